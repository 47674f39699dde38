import 'reflect-metadata';
import { getMetadataStorage } from 'class-validator';
import type { Outline } from '#platform/json';
import { type Constructor, ITEMS, type Items, OUTLINES } from './members';
import { NESTED_MAX, shapeOf } from './validation';

/** Validators of members that are stored as sent and not interpreted. */
const FREE_FORM = ['isJson', 'isJsonObject'];
/** Validators of lists. */
const LISTS = ['isArray', 'isTags'];
/** Validators of lists of scalars, and of scalars. Members without any of these validators are parsed completely. */
const SCALAR_LISTS = ['arrayUnique', 'areTools', 'isTags'];
const SCALARS = ['isString', 'isInt', 'isNumber', 'isBoolean', 'isTime', 'isEmail', 'isLength', 'maxLength', 'matches']; // oxfmt-ignore
/** Maximum elements read from a list without a declared maximum. Larger than any such list may be. */
const LIST_MAX = 10_000;

const SCALAR: Outline = { kind: 'scalar' };
const FREE: Outline = { kind: 'freeForm' };
const WHOLE: Outline = { kind: 'whole' };

const outlines = new Map<Constructor, Outline>();

/** Returns the outline of a DTO, derived from its decorators. Threads return large bodies as outlines. */
export function outlineOf(type: Constructor): Outline {
  let outline = outlines.get(type);
  if (!outline) {
    const { members, readOnly } = shapeOf(type);
    const of = [...members].map((member) => [member, outlineOfMember(type, member)] as const);
    outline = { kind: 'object', members: Object.fromEntries(of), ignored: readOnly };
    outlines.set(type, outline);
  }
  return outline;
}

const metadataOf = <Value>(key: symbol, { prototype }: Constructor): Record<string, Value | undefined> =>
  (Reflect.getMetadata(key, prototype as object) as Record<string, Value> | undefined) ?? {};

function outlineOfMember(type: Constructor, member: string): Outline {
  const { nested, lengths } = shapeOf(type);
  const validators = getMetadataStorage()
    .getTargetValidationMetadatas(type, '', false, false)
    .filter(({ propertyName }) => propertyName === member);
  const has = (names: readonly string[]): boolean =>
    validators.some(({ name }) => names.includes(name ?? ''));
  const declared = metadataOf<Outline>(OUTLINES, type)[member];
  if (declared) return declared;
  const items = metadataOf<Items>(ITEMS, type)[member];
  const dto = nested[member] ?? items?.type;
  if (has(FREE_FORM)) return FREE;
  if (has(LISTS)) {
    const isOfScalars = validators.some(({ each }) => each) || has(SCALAR_LISTS);
    const of = dto ? outlineOf(dto()) : isOfScalars ? SCALAR : FREE;
    const max = lengths.get(member) ?? (nested[member] ? NESTED_MAX : LIST_MAX);
    return { kind: 'list', of, max, ...(items?.isSeparate && { isSeparate: true }) };
  }
  if (dto) return outlineOf(dto());
  return has(SCALARS) ? SCALAR : WHOLE;
}
