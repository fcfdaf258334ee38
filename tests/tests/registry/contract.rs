//! Every answer is held against the OpenAPI document, whichever test asked: path, status, kind and every field of the body. What the
//! document does not describe is an error here, so that a client can be written from it.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex};

use serde_json::{Map, Value};

use crate::server::Answer;

/// The document as it stands in the source; a test compares it with what is served.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../registry-server/src/api/openapi.json")).expect("the document is JSON")
});

/// The operations of which a success was seen by this process, by their ids.
static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Whether a path is one of those that the document describes.
fn is_described(path: &str) -> bool {
    ["/api/", "/v1/"].iter().any(|start| path.starts_with(start)) || path == "/metrics"
}

/// Panics unless the document describes the answer to a request.
#[track_caller]
pub(crate) fn check(method: &str, path_and_query: &str, body: &[u8], answer: &Answer) {
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    // Of a head there is no body to hold against anything.
    if !is_described(path) || method == "HEAD" {
        return;
    }
    let mut problems = problems(method, path, query, body, answer);
    if answer.status == 404 && !answer.json()["error"]["hint"].is_string() {
        problems.push("what is not there is told without where to look".to_owned());
    }
    assert!(
        problems.is_empty(),
        "{method} {path_and_query} answered {} {}\nwhich the OpenAPI document does not describe:\n{}",
        answer.status,
        String::from_utf8_lossy(&answer.bytes),
        problems.join("\n")
    );
}

fn problems(method: &str, path: &str, query: &str, body: &[u8], answer: &Answer) -> Vec<String> {
    let error = serde_json::json!({ "$ref": "#/components/schemas/Error" });
    let Some(operation) = operation(method, path) else {
        let mut problems = json_problems(&error, &answer.bytes);
        if answer.status < 400 {
            problems.push("there is no such operation".to_owned());
        }
        return problems;
    };
    let responses = operation["responses"].as_object().unwrap();
    let Some(response) = responses.get(&answer.status.to_string()) else {
        let mut problems = json_problems(&error, &answer.bytes);
        if answer.status < 400 {
            problems.push("the status is none of the operation".to_owned());
        }
        return problems;
    };
    SEEN.lock().unwrap().insert(operation["operationId"].as_str().unwrap().to_owned());
    let mut problems = request_problems(operation, query, body);
    match response.get("content").and_then(Value::as_object) {
        None if answer.bytes.is_empty() => {}
        None => problems.push("there is a body".to_owned()),
        Some(content) => {
            let kind = answer.headers.get("content-type").map_or("", String::as_str);
            let kind = kind.split(';').next().unwrap_or_default();
            match content.get(kind) {
                None => problems.push(format!("the kind `{kind}` is none of the operation")),
                Some(described) if kind == "application/json" && answer.status == 200 || answer.status == 201 => {
                    problems.extend(json_problems(&described["schema"], &answer.bytes));
                }
                Some(_) => {}
            }
        }
    }
    problems
}

/// What is wrong with a request that had success.
fn request_problems(operation: &Value, query: &str, body: &[u8]) -> Vec<String> {
    let mut problems = Vec::new();
    let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let name = pair.split('=').next().unwrap_or_default();
        if !parameters.iter().any(|parameter| parameter["in"] == "query" && parameter["name"] == name) {
            problems.push(format!("the query has `{name}`"));
        }
    }
    match &operation["requestBody"] {
        Value::Null if body.is_empty() => {}
        Value::Null => problems.push("the request has a body".to_owned()),
        described if body.is_empty() && described["required"] == false => {}
        described => {
            if let Some(schema) = described.pointer("/content/application~1json/schema") {
                problems.extend(json_problems(schema, body).into_iter().map(|problem| format!("request: {problem}")));
            }
        }
    }
    problems
}

/// The operation of a path: of the templates that fit, the one with the most parts that are no parameters.
fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let fitting = paths.iter().filter_map(|(template, item)| Some((fit(template, path)?, item)));
    let (_, item) = fitting.max_by_key(|(literal, _)| *literal)?;
    item.get(method.to_lowercase())
}

/// How many parts of a template stand for themselves, where it fits a path. The index of a tile goes to the end.
fn fit(template: &str, path: &str) -> Option<usize> {
    let (mut parts, mut literal) = (path.split('/'), 0);
    for wanted in template.split('/') {
        let part = parts.next()?;
        match wanted.split_once('{') {
            None if wanted == part => literal += 1,
            None => return None,
            Some((before, rest)) => {
                let (name, after) = rest.split_once('}').unwrap();
                part.strip_prefix(before)?.strip_suffix(after)?;
                if name == "index" {
                    return Some(literal);
                }
            }
        }
    }
    parts.next().is_none().then_some(literal)
}

fn json_problems(schema: &Value, bytes: &[u8]) -> Vec<String> {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(value) => invalid(schema, &value, "$"),
        Err(error) => vec![format!("it is no JSON: {error}")],
    }
}

/// Where a value is not as a schema says. Fields that the schema does not name are an error, and so are words of schemas that are not
/// known here: no part of the document is passed over.
fn invalid(schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (word, said) in schema.as_object().unwrap() {
        let good = match word.as_str() {
            "$ref" => {
                let target = said.as_str().unwrap().strip_prefix('#').unwrap();
                problems.extend(invalid(DOCUMENT.pointer(target).unwrap(), value, place));
                true
            }
            "type" => match said {
                Value::String(one) => is_of(one, value),
                several => several.as_array().unwrap().iter().any(|one| is_of(one.as_str().unwrap(), value)),
            },
            "enum" => said.as_array().unwrap().contains(value),
            "anyOf" => said.as_array().unwrap().iter().any(|one| invalid(one, value, place).is_empty()),
            "minimum" => value.as_i64().is_none_or(|number| number >= said.as_i64().unwrap()),
            "maximum" => value.as_i64().is_none_or(|number| number <= said.as_i64().unwrap()),
            "pattern" => {
                assert_eq!(said, "^[0-9a-f]{64}$", "the one pattern that is known here");
                let digits =
                    |text: &str| text.len() == 64 && text.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
                value.as_str().is_none_or(digits)
            }
            "required" => {
                let fields = value.as_object().cloned().unwrap_or_default();
                said.as_array().unwrap().iter().all(|name| fields.contains_key(name.as_str().unwrap()))
            }
            "properties" => {
                problems.extend(fields(schema, said.as_object().unwrap(), value, place));
                true
            }
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    problems.extend(invalid(said, item, &format!("{place}[{number}]")));
                }
                true
            }
            "description" | "additionalProperties" | "format" => true,
            other => panic!("the document has `{other}`, which this test does not know"),
        };
        if !good {
            problems.push(format!("{place}: {value} is not as `{word}` says: {said}"));
        }
    }
    problems
}

fn fields(schema: &Value, described: &Map<String, Value>, value: &Value, place: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, field) in value.as_object().into_iter().flatten() {
        match described.get(name) {
            Some(described) => problems.extend(invalid(described, field, &format!("{place}.{name}"))),
            None if schema["additionalProperties"] == true => {}
            None => problems.push(format!("{place}.{name}: there is no such field")),
        }
    }
    problems
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("the document has the type `{other}`"),
    }
}

/// The operations of the document of which this process saw no success.
pub(crate) fn unseen() -> Vec<String> {
    let seen = SEEN.lock().unwrap();
    let operations =
        DOCUMENT["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values());
    let ids = operations.map(|operation| operation["operationId"].as_str().unwrap().to_owned());
    ids.filter(|id| !seen.contains(id)).collect()
}

#[test]
fn what_is_not_described_is_found() {
    let answer = |status: u16, body: &str| Answer {
        status,
        bytes: body.as_bytes().to_vec(),
        headers: [("content-type".to_owned(), "application/json".to_owned())].into(),
    };
    let found =
        |method: &str, path: &str, status: u16, body: &str| problems(method, path, "", b"", &answer(status, body));
    let owners = "/api/v1/packs/neon/owners";
    assert!(found("GET", owners, 200, r#"{"owners": ["ada"]}"#).is_empty());
    for (status, body) in [
        (200, r#"{"owners": "ada"}"#),
        (200, r#"{"owners": [1]}"#),
        (200, r#"{"owners": [], "more": 1}"#),
        (200, "{}"),
        (200, "text"),
        (202, r#"{"owners": []}"#),
        (404, r#"{"message": "none"}"#),
    ] {
        assert!(!found("GET", owners, status, body).is_empty(), "{status} {body}");
    }
    assert!(!found("PATCH", owners, 200, "{}").is_empty() && !found("GET", "/api/v1/other", 200, "{}").is_empty());
    assert!(!found("GET", "/api/v1/health", 200, r#"{"status": "bad", "version": "1"}"#).is_empty());
    assert_eq!(fit("/v1/tile/{level}/{index}", "/v1/tile/0/x001/234"), Some(3));
    assert_eq!(fit("/v1/root/{number}.json", "/v1/root/1.json"), Some(3));
    assert!(operation("GET", "/api/v1/packs/neon/owners").unwrap()["operationId"] == "owners");
}
