//! The C names of the variables of one function, clear of every word that the texts in its body use or make.

use std::collections::{BTreeMap, BTreeSet};

use crate::codegen::foreign_words::Words;
use crate::codegen::names::{identifier, is_reserved_variable, unused};
use crate::symbol::Sym;

/// Names are given back at the end of their block.
#[derive(Debug)]
pub struct Scope {
    spelled: BTreeMap<Sym, String>,
    live: BTreeSet<String>,
    /// What texts make of the live names, such as `x_store` of `x`; no two live names make the same.
    made: BTreeSet<String>,
    /// Names of functions that the body may call, and what user-written C in it says.
    words: Words,
    /// Every name that was given, in order.
    given: Vec<String>,
    /// A variable for which no name was free.
    crowded: Option<String>,
    /// Whether names are to tell themselves from all other text.
    marked: bool,
}

impl Scope {
    pub fn new(words: Words, marked: bool) -> Self {
        let (spelled, live, made, given, crowded) = Default::default();
        Scope { spelled, live, made, words, given, crowded, marked }
    }

    pub fn bind(&mut self, symbol: &Sym) -> String {
        let wanted = match self.marked {
            true => Words::marked(self.given.len() + 1),
            false => identifier(symbol.name()),
        };
        let name = unused(&wanted, &|name| self.is_in_the_way(name));
        if self.is_in_the_way(&name) {
            self.crowded = Some(symbol.name().to_string());
        }
        self.made.extend(self.words.made_of(&name));
        self.live.insert(name.clone());
        self.given.push(name.clone());
        self.spelled.insert(symbol.clone(), name.clone());
        name
    }

    fn is_in_the_way(&self, name: &str) -> bool {
        is_reserved_variable(name)
            || self.live.contains(name)
            || self.made.contains(name)
            || self.words.are_disturbed_by(name, &self.live)
            || self.words.made_of(name).any(|made| self.made.contains(&made))
    }

    /// The names of all variables, in the order in which they were met.
    pub fn given(&self) -> &[String] {
        &self.given
    }

    /// A variable whose name the texts may capture, since they leave none free.
    pub fn crowded(&self) -> Option<&str> {
        self.crowded.as_deref()
    }

    pub fn release(&mut self, name: &str) {
        self.live.remove(name);
        for made in self.words.made_of(name) {
            self.made.remove(&made);
        }
    }

    pub fn get<'a>(&'a self, symbol: &'a Sym) -> &'a str {
        self.spelled.get(symbol).map_or(symbol.name(), String::as_str)
    }
}
