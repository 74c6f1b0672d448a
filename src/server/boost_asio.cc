// The compiled part of Boost.Asio and Boost.Beast, once instead of in every file that uses them.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
