//! Configuration state while a proc runs: where it lives, what reads and writes it, what is left of it.

use std::collections::BTreeMap;

use crate::hardware::config::{ConfigField, FieldType};
use crate::hardware::precision::Precision;
use crate::interpret::domain::Domain;
use crate::interpret::frame::{ConfigCell, ConfigMemory, ControlValue, Frame, Step, fault};
use crate::interpret::machine::{Buffer, Machine};
use crate::interpret::{FaultKind, Input, Tensor};
use crate::loop_ir::configuration::Touched;
use crate::loop_ir::{Expr, Proc, Stmt, StmtKind, visit};
use crate::source::Span;

impl<D: Domain> Machine<'_, D> {
    /// Memory for the fields that are given or that the proc uses.
    pub(super) fn config_memory(
        &mut self,
        proc: &Proc,
        given: Vec<(ConfigField, Input<D::Value>)>,
    ) -> Step<(ConfigMemory, Vec<ConfigField>)> {
        let mut fields = Touched::by_proc(proc).all();
        fields.extend(given.iter().map(|(field, _)| field.clone()));
        let mut given: BTreeMap<ConfigField, Input<D::Value>> = given.into_iter().collect();
        let mut memory = ConfigMemory::new();
        for field in &fields {
            let (precision, control, value) = match (field.ty(), given.remove(field)) {
                (FieldType::Data(precision), Some(Input::Tensor(tensor))) if tensor.data.len() == 1 => {
                    let value = tensor.data.into_iter().next().unwrap_or_else(|| self.domain.poison());
                    (precision, None, self.domain.stored(value, precision))
                }
                (FieldType::Data(precision), None) => (precision, None, self.domain.poison()),
                (FieldType::Bool, Some(Input::Bool(value))) => {
                    (Precision::R, Some(ControlValue::Bool(value)), self.domain.poison())
                }
                (FieldType::Bool, None) => (Precision::R, Some(ControlValue::Bool(false)), self.domain.poison()),
                (FieldType::Size | FieldType::Index | FieldType::Stride, Some(Input::Int(value))) => {
                    (Precision::R, Some(ControlValue::Int(value)), self.domain.poison())
                }
                (FieldType::Size | FieldType::Index | FieldType::Stride, None) => {
                    (Precision::R, Some(ControlValue::Int(0)), self.domain.poison())
                }
                (_, Some(_)) => {
                    let message = format!("wrong kind of value for the field '{field}'");
                    return fault(FaultKind::Inputs, message, &proc.span);
                }
            };
            memory.insert(field.symbol().identity(), ConfigCell { buffer: self.buffers.len(), control });
            self.buffers.push(Buffer { precision, data: vec![value] });
        }
        Ok((memory, fields.into_iter().collect()))
    }

    /// The state at the end.
    pub(super) fn config_outputs(
        &mut self,
        fields: Vec<ConfigField>,
        memory: &ConfigMemory,
        span: &Span,
    ) -> Step<Vec<(ConfigField, Input<D::Value>)>> {
        let mut outputs = Vec::with_capacity(fields.len());
        for field in fields {
            let cell = self.cell(&field, memory, span)?;
            let value = match cell.control {
                Some(ControlValue::Int(value)) => Input::Int(value),
                Some(ControlValue::Bool(value)) => Input::Bool(value),
                None => {
                    let value = self.buffers.get(cell.buffer).and_then(|buffer| buffer.data.first()).cloned();
                    let value = value.unwrap_or_else(|| self.domain.poison());
                    Input::Tensor(Tensor::dense(Vec::new(), vec![value]))
                }
            };
            outputs.push((field, value));
        }
        Ok(outputs)
    }

    fn cell(&self, field: &ConfigField, memory: &ConfigMemory, span: &Span) -> Step<ConfigCell> {
        match memory.get(&field.symbol().identity()) {
            Some(cell) => Ok(cell.clone()),
            None => fault(FaultKind::Malformed, format!("'{field}' has no memory here"), span),
        }
    }

    /// Records which fields the control of a statement reads; data fields are recorded when they are loaded.
    pub(super) fn touch_config_reads(&mut self, stmt: &Stmt, frame: &Frame) -> Step<()> {
        let mut own: Vec<Expr> = Vec::new();
        visit::each_own_expr(stmt, &mut |expr| own.push(expr.clone()));
        if let StmtKind::Call { callee, .. } = &stmt.kind {
            own.extend(callee.preds.iter().cloned());
        }
        for field in Touched::by_exprs(&own).reads {
            let cell = self.cell(&field, &frame.config, &stmt.span)?;
            if cell.control.is_some() {
                self.touch((cell.buffer, 0), false, &field.symbol(), &stmt.span)?;
            }
        }
        Ok(())
    }

    pub(super) fn load_config(&mut self, field: &ConfigField, frame: &Frame, span: &Span) -> Step<D::Value> {
        let cell = self.cell(field, &frame.config, span)?;
        self.load((cell.buffer, 0), &field.symbol(), span)
    }

    pub(super) fn write_config(&mut self, field: &ConfigField, rhs: &Expr, frame: &mut Frame, span: &Span) -> Step<()> {
        let cell = self.cell(field, &frame.config, span)?;
        let place = (cell.buffer, 0);
        if cell.control.is_none() {
            let value = self.right_side(rhs, frame, self.precision_of(cell.buffer))?;
            return self.write(place, value, &field.symbol(), span);
        }
        let value = frame.control(rhs)?;
        self.touch(place, true, &field.symbol(), span)?;
        frame.config.insert(field.symbol().identity(), ConfigCell { control: Some(value), ..cell });
        Ok(())
    }
}
