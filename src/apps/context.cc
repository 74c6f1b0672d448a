#include "apps/context.h"

#include <unistd.h>

#include <iostream>

namespace hunch {

Result<OpenedTokenizer> OpenTokenizer(const std::string& path) {
  OpenedTokenizer opened;
  HUNCH_ASSIGN_OR_RETURN(opened.file, GgufFile::Open(path));
  HUNCH_ASSIGN_OR_RETURN(opened.tokenizer, Tokenizer::Create(*opened.file));
  return opened;
}

Context RealContext(std::ostream& out, Interrupts& interrupts) {
  return {.console = {.in = std::cin,
                      .out = out,
                      .err = std::cerr,
                      .in_tty = isatty(STDIN_FILENO) == 1,
                      .out_tty = isatty(STDOUT_FILENO) == 1,
                      .err_tty = isatty(STDERR_FILENO) == 1},
          .interrupts = interrupts,
          .load = &Llm::Load,
          .inspect = &Inspect,
          .open_tokenizer = &OpenTokenizer,
          .bench_rows = &RunRowBench,
          .demo_prompt = "",
          .heads = ""};
}

}  // namespace hunch
