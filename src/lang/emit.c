/* Instructions, each once, with what follows from their arguments: phase, per_element, constant.
 * Casts and roundings of constants are done here. */
#include <math.h>
#include <string.h>

#include "lang/typing.h"

kiln__value kiln__value_of(uint32_t inst) { return (kiln__value){.inst = inst}; }

kiln__ctype kiln__value_type(const kiln__typer *typer, const kiln__value *value) {
    if (!value->is_constant) return typer->insts.items[value->inst].type;
    if (value->constant.kind == KILN__OP_FLOAT) return typer->ir->float_type;
    if (value->constant.kind == KILN__OP_BOOL) return KILN__BOOL;
    return value->constant.i64 >= INT32_MIN && value->constant.i64 <= INT32_MAX ? KILN__I32 : KILN__I64;
}

static uint64_t payload_of(const kiln__inst *inst) {
    uint64_t payload = 0;
    switch ((int)inst->op) {
    case KILN__OP_FLOAT: memcpy(&payload, &inst->u.f64, sizeof payload); break;
    case KILN__OP_INT:
    case KILN__OP_BOOL: payload = (uint64_t)inst->u.i64; break;
    case KILN__IR_INPUT: payload = inst->u.input; break;
    case KILN__IR_SCALAR: payload = inst->u.scalar; break;
    case KILN__IR_ROUND_TO: payload = (uint64_t)inst->u.storage; break;
    case KILN__OP_REDUCE_USER: payload = inst->u.reducer; break;
    case KILN__OP_INDEX:
    case KILN__OP_SIZE: payload = (uint32_t)inst->u.axis; break;
    case KILN__OP_PARAM: payload = inst->u.param; break;
    default: break;
    }
    return payload;
}

static bool is_literal(kiln__op op) { return op == KILN__OP_FLOAT || op == KILN__OP_INT || op == KILN__OP_BOOL; }

/* Fills in what follows from the operator and the arguments; false if there are too many phases. */
static bool follow(const kiln__typer *typer, kiln__inst *inst) {
    bool reduction = kiln__op_is_reduction(inst->op);
    unsigned phase = 0;
    inst->per_element = inst->op == KILN__OP_UNIFORM;
    inst->constant = is_literal(inst->op) || inst->op == KILN__OP_SIZE || inst->op == KILN__OP_COUNT ||
                     inst->op == KILN__IR_SCALAR || (inst->arg_count > 0 && !reduction && inst->op != KILN__OP_UNIFORM);
    if (inst->op == KILN__IR_INPUT) inst->per_element = typer->binding->input_per_element[inst->u.input];
    if (inst->op == KILN__OP_INDEX) inst->per_element = typer->binding->reduced[inst->u.axis];
    for (uint32_t i = 0; i < inst->arg_count; i++) {
        const kiln__inst *arg = &typer->insts.items[inst->args[i]];
        if (arg->phase > phase) phase = arg->phase;
        inst->per_element = inst->per_element || (arg->per_element && !reduction);
        inst->constant = inst->constant && arg->constant;
    }
    if (reduction && ++phase > KILN__MAX_PHASES) return false;
    inst->phase = (uint8_t)phase;
    return true;
}

uint32_t kiln__emit(kiln__typer *typer, kiln__inst inst) {
    if (typer->status != KILN_OK) return 0;
    kiln__insts *insts = &typer->insts;
    insts->intern.arena = typer->scratch;
    uint32_t index, extra = (uint32_t)inst.type << 8 | inst.arg_count;
    kiln__key key = kiln__key_of((uint32_t)inst.op, extra, inst.args, payload_of(&inst));
    if (!kiln__intern_add(&insts->intern, &key, &index)) {
        kiln__typer_out_of_memory(typer);
        return 0;
    }
    if (index < insts->count) return index;
    if (!follow(typer, &inst)) {
        kiln__typer_fail(typer, KILN_E_LIMIT, "reductions of reductions are nested more than %d deep",
                         KILN__MAX_PHASES);
        return 0;
    }
    if (insts->count == KILN__MAX_INSTS) {
        kiln__typer_fail(typer, KILN_E_LIMIT, "the program has more than %d typed operations", KILN__MAX_INSTS);
        return 0;
    }
    kiln__inst *items = kiln__grow(typer->scratch, insts->items, insts->count, &insts->capacity, sizeof *items);
    if (items == NULL) {
        kiln__typer_out_of_memory(typer);
        return 0;
    }
    insts->items = items;
    insts->items[insts->count] = inst;
    return insts->count++;
}

uint32_t kiln__emit_op(kiln__typer *typer, kiln__op op, kiln__ctype type, const uint32_t *args, uint32_t arg_count) {
    kiln__inst inst = {.op = op, .type = type, .arg_count = (uint8_t)arg_count};
    for (uint32_t i = 0; i < arg_count; i++) inst.args[i] = args[i];
    return kiln__emit(typer, inst);
}

/* Truncates, saturating at the type's ends; NaN gives 0. */
static int64_t float_to_int(double value, kiln__ctype type) {
    double low = type == KILN__I32 ? (double)INT32_MIN : (double)INT64_MIN;
    if (isnan(value)) return 0;
    if (value < low) return type == KILN__I32 ? INT32_MIN : INT64_MIN;
    if (value >= -low) return type == KILN__I32 ? INT32_MAX : INT64_MAX;
    return (int64_t)value;
}

static uint32_t emit_constant(kiln__typer *typer, const kiln__constant *constant, kiln__ctype type) {
    kiln__inst inst = {.type = type};
    if (type == KILN__BOOL) {
        inst.op = KILN__OP_BOOL;
        inst.u.i64 = kiln__constant_truth(constant);
    } else if (type == KILN__F32) {
        inst.op = KILN__OP_FLOAT;
        inst.u.f64 = constant->kind == KILN__OP_FLOAT ? (double)(float)constant->f64 : (double)(float)constant->i64;
    } else if (type == KILN__F64) {
        inst.op = KILN__OP_FLOAT;
        inst.u.f64 = kiln__constant_f64(constant);
    } else {
        inst.op = KILN__OP_INT;
        inst.u.i64 = constant->kind == KILN__OP_FLOAT ? float_to_int(constant->f64, type) : constant->i64;
        if (type == KILN__I32 && inst.u.i64 > INT32_MAX) inst.u.i64 = INT32_MAX;
        if (type == KILN__I32 && inst.u.i64 < INT32_MIN) inst.u.i64 = INT32_MIN;
    }
    return kiln__emit(typer, inst);
}

uint32_t kiln__emit_as(kiln__typer *typer, const kiln__value *value, kiln__ctype type) {
    if (typer->status != KILN_OK) return 0;
    if (value->is_constant) return emit_constant(typer, &value->constant, type);
    const kiln__inst *inst = &typer->insts.items[value->inst];
    if (inst->type == type) return value->inst;
    if (is_literal(inst->op)) {
        kiln__constant constant = {.kind = inst->op};
        if (inst->op == KILN__OP_FLOAT)
            constant.f64 = inst->u.f64;
        else
            constant.i64 = inst->u.i64;
        return emit_constant(typer, &constant, type);
    }
    return kiln__emit_op(typer, KILN__IR_CAST, type, &value->inst, 1);
}

uint32_t kiln__emit_round(kiln__typer *typer, uint32_t inst, kiln_type storage) {
    if (typer->status != KILN_OK) return 0;
    const kiln__inst *source = &typer->insts.items[inst];
    if (source->op == KILN__OP_FLOAT) {
        kiln__constant rounded = kiln__constant_float(kiln__round_to(storage, source->u.f64));
        return emit_constant(typer, &rounded, source->type);
    }
    if (source->op == KILN__OP_INT) {
        uint64_t stored = 0;
        kiln__store_i64(storage, &stored, source->u.i64);
        kiln__constant rounded = kiln__constant_int(kiln__load_i64(storage, &stored));
        return emit_constant(typer, &rounded, source->type);
    }
    kiln__inst round = {.op = KILN__IR_ROUND_TO, .type = source->type, .arg_count = 1, .args = {inst}};
    round.u.storage = storage;
    return kiln__emit(typer, round);
}
