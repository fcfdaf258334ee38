//! A headless Chromium, driven over WebDriver by `chromedriver` as Debian has both.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A screen, and whether its user prefers dark pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) name: &'static str,
    width: u32,
    height: u32,
    dark: bool,
}

pub(crate) const SCREENS: [Screen; 4] = [
    Screen { name: "desktop-light", width: 1280, height: 900, dark: false },
    Screen { name: "desktop-dark", width: 1280, height: 900, dark: true },
    Screen { name: "phone-light", width: 375, height: 740, dark: false },
    Screen { name: "phone-dark", width: 375, height: 740, dark: true },
];

/// A browser with one window, whose pages run no scripts of their own.
pub(crate) struct Browser {
    driver: Child,
    session: String,
    agent: ureq::Agent,
    /// The browser's own folder.
    _profile: TempDir,
}

impl Browser {
    pub(crate) fn start() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .stdin(Stdio::null())
            .spawn()
            .expect("chromedriver is installed (scripts/setup.sh does it)");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = loop {
            let line = lines.next().expect("chromedriver says its port").unwrap();
            if let Some((_, port)) = line.split_once("started successfully on port ") {
                break port.trim_end_matches('.').to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        let profile = tempfile::tempdir().unwrap();
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent = ureq::Agent::new_with_config(config.timeout_global(Some(Duration::from_secs(60))).build());
        let arguments = [
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--disable-gpu".to_owned(),
            "--no-first-run".to_owned(),
            format!("--user-data-dir={}", profile.path().display()),
        ];
        let options = json!({ "args": arguments, "prefs": { "profile.default_content_setting_values.javascript": 2 } });
        let mut browser =
            Self { driver, session: format!("http://127.0.0.1:{port}/session"), agent, _profile: profile };
        let capabilities =
            json!({ "capabilities": { "alwaysMatch": { "browserName": "chrome", "goog:chromeOptions": options } } });
        let answer = browser.post("", &capabilities);
        browser.session = format!("{}/{}", browser.session, answer["sessionId"].as_str().unwrap());
        browser
    }

    /// What the driver answers, or why it does not.
    fn send(&self, path: &str, body: &Value) -> Result<Value, Value> {
        let request = self.agent.post(format!("{}{path}", self.session)).header("content-type", "application/json");
        let mut response = request.send(body.to_string()).unwrap();
        let answer: Value = serde_json::from_str(&response.body_mut().read_to_string().unwrap()).unwrap();
        if response.status().is_success() { Ok(answer["value"].clone()) } else { Err(answer) }
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.send(path, body).unwrap_or_else(|answer| panic!("{path} {body}: {answer}"))
    }

    /// Sends a command of the protocol of the browser's own tools.
    fn tool(&self, command: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// Becomes another screen.
    pub(crate) fn look_as(&self, screen: Screen) {
        let phone = screen.width < 600;
        let metrics =
            json!({ "width": screen.width, "height": screen.height, "deviceScaleFactor": 1, "mobile": phone });
        self.tool("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if screen.dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.tool("Emulation.setEmulatedMedia", features);
    }

    pub(crate) fn open(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    /// The value of an expression, which the test evaluates beside the page.
    pub(crate) fn evaluate(&self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true });
        let answer = self.tool("Runtime.evaluate", parameters);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    fn element(&self, selector: &str) -> String {
        let answer = self.post("/element", &json!({ "using": "css selector", "value": selector }));
        answer.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned()
    }

    /// Types into what a selector finds.
    pub(crate) fn type_into(&self, selector: &str, text: &str) {
        self.post(&format!("/element/{}/value", self.element(selector)), &json!({ "text": text }));
    }

    /// Clicks on what a selector finds, on a page that stays.
    pub(crate) fn click(&self, selector: &str) {
        self.post(&format!("/element/{}/click", self.element(selector)), &json!({}));
    }

    /// Clicks on what leads to another page, and waits until that is there.
    pub(crate) fn follow(&self, selector: &str) {
        self.evaluate("document.documentElement.dataset.left = 'yes'");
        self.click(selector);
        let expression = "document.documentElement.dataset.left !== 'yes' && document.readyState === 'complete'";
        let asked = json!({ "cmd": "Runtime.evaluate", "params": { "expression": expression } });
        let start = Instant::now();
        // Between two pages there may be nothing that could answer.
        while self.send("/goog/cdp/execute", &asked).map_or(true, |answer| answer["result"]["value"] != true) {
            assert!(start.elapsed() < Duration::from_secs(20), "{selector}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses a key.
    pub(crate) fn press(&self, key: char) {
        let keys = json!([{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }]);
        self.post("/actions", &json!({ "actions": [{ "type": "key", "id": "keys", "actions": keys }] }));
    }

    /// Keeps a picture of the whole page.
    pub(crate) fn photograph(&self, file: &Path) {
        let parameters = json!({ "format": "png", "captureBeyondViewport": true });
        let answer = self.tool("Page.captureScreenshot", parameters);
        let picture = STANDARD.decode(answer["data"].as_str().unwrap()).unwrap();
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 2000);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, picture).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends the browser with its session.
        let _ = self.agent.delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
