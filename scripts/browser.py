"""A headless Chromium for scripts that look at pages: installed from Debian where it is missing."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ("chromium", "chromium-driver", "python3-selenium")
SCREENS = {"desktop": (1280, 900, False), "phone": (375, 740, True)}  # width, height, mobile


def install():
    subprocess.run([ROOT / "scripts/install_deps.sh", *PACKAGES], check=True)


def browser():
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    # No sandbox: it needs rights that a container's root does not have; the page is ours.
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=webdriver.chrome.service.Service("/usr/bin/chromedriver"), options=options)


def show(driver, screen, mode):
    """From now on the browser has this screen of SCREENS, in "light" or "dark" mode."""
    width, height, mobile = SCREENS[screen]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                           {"features": [{"name": "prefers-color-scheme", "value": mode}]})
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile})
