//! stub
use std::sync::Arc; use crate::{source::{SourceFile,Span}, diagnostic::Diagnostic};
#[derive(Debug)] pub struct Definition{pub name:String,pub function:ruff_python_ast::StmtFunctionDef}
impl Definition{pub fn is_instr(&self)->bool{false}}
#[derive(Debug)] pub struct Import{pub module:String,pub span:Span}
impl Import{pub fn names(&self)->Vec<(String,Span)>{vec![]}}
#[derive(Debug)] pub struct SplitModule{pub imports:Vec<Import>,pub definitions:Vec<Definition>, f:Arc<SourceFile>}
impl SplitModule{pub fn file(&self)->&Arc<SourceFile>{&self.f} pub fn render(&self,_:&dyn Fn(&str)->Vec<String>)->String{String::new()} pub fn source_span(&self,_:(usize,usize),_:(usize,usize))->Span{Span::none()}}
pub fn split(_f:&Arc<SourceFile>)->Result<SplitModule,Vec<Diagnostic>>{Err(vec![])}
