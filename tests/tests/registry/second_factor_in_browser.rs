//! The second factor by hand, in a real browser: from the QR code to signing in with a recovery code. Pictures are kept in `target/pages/`.

use serde_json::json;

use crate::browser::{Browser, SCREENS};
use crate::pages_in_browser::{PROBLEMS, look_at, picture};
use crate::second_factor::Authenticator;
use crate::server::{PASSWORD, Server};

/// Looks at the page that is there, which an address alone would not show again.
fn look_here(browser: &Browser, page: &str) {
    for screen in SCREENS {
        browser.look_as(screen);
        browser.photograph(&picture(page, screen));
        let problems = browser.evaluate(PROBLEMS);
        assert_eq!(problems, json!([]), "{page} {}: {problems:#}", screen.name);
    }
    browser.look_as(SCREENS[0]);
}

fn text_of(browser: &Browser, selector: &str) -> String {
    let text = browser.evaluate(&format!("document.querySelector('{selector}').textContent"));
    text.as_str().unwrap().to_owned()
}

#[test]
fn a_second_factor_is_set_up_and_used_without_script() {
    let server = Server::start();
    server.account("ada");
    let browser = Browser::start();
    browser.look_as(SCREENS[0]);
    browser.open(&format!("{}/sign-in", server.url));
    browser.type_into("#login", "ada");
    browser.type_into("#password", PASSWORD);
    browser.follow("main button");
    look_at(&browser, "security-off", &format!("{}/account/security", server.url));
    browser.look_as(SCREENS[0]);
    browser.type_into("#begin-password", PASSWORD);
    browser.follow("section button");
    look_here(&browser, "second-factor-begun");
    // The picture holds the very address: read as its modules are drawn, it is the code of that text.
    let address = text_of(&browser, "dd:last-of-type .secret");
    assert!(address.starts_with("otpauth://totp/localhost:ada?secret="), "{address}");
    let drawn = browser.evaluate("document.querySelector('.qr path').getAttribute('d').split('M').length - 1");
    assert!(drawn.as_u64().unwrap() > 200, "{drawn}");
    let authenticator = Authenticator::of(&text_of(&browser, ".secret").replace(' ', ""));
    browser.type_into("#confirm-code", &authenticator.wrong());
    browser.follow("section button");
    assert!(text_of(&browser, "[role=alert]").starts_with("The code is not one of the secret shown."));
    // Who has the session and not the password would see it here.
    assert_eq!(browser.evaluate("document.querySelectorAll('.secret, .qr').length"), 0);
    browser.type_into("#confirm-code", &authenticator.codes[0]);
    browser.follow("section button");
    look_here(&browser, "recovery-codes");
    let codes = browser.evaluate("[...document.querySelectorAll('.codes code')].map((code) => code.textContent)");
    assert_eq!(codes.as_array().unwrap().len(), 10);
    look_at(&browser, "security-on", &format!("{}/account/security", server.url));
    browser.look_as(SCREENS[0]);
    browser.follow(".who button");

    browser.open(&format!("{}/sign-in", server.url));
    browser.type_into("#login", "ada");
    browser.type_into("#password", PASSWORD);
    browser.follow("main button");
    assert_eq!(browser.evaluate("location.pathname"), "/sign-in/code");
    look_at(&browser, "sign-in-code", &format!("{}/sign-in/code", server.url));
    browser.look_as(SCREENS[0]);
    browser.type_into("#code", &authenticator.codes[0]);
    browser.follow("main button");
    assert!(text_of(&browser, "[role=alert]").contains("was used already"));
    browser.type_into("#code", codes[0].as_str().unwrap());
    browser.follow("main button");
    assert_eq!(browser.evaluate("location.pathname"), "/account");
    server.change_rows("UPDATE tokens SET expires = expires - 700 WHERE session = 1");
    look_at(&browser, "account-asks-for-code", &format!("{}/account", server.url));
    browser.look_as(SCREENS[0]);
    browser.open(&format!("{}/account/security", server.url));
    assert!(text_of(&browser, "main").contains("9 of 10 recovery codes are left"));
    browser.click("details:last-of-type summary");
    browser.type_into("#off-password", PASSWORD);
    browser.type_into("#off-code", codes[1].as_str().unwrap());
    browser.follow("details:last-of-type button");
    assert!(text_of(&browser, "[role=status]").contains("The second factor is off"));
}
