import { getMetadataStorage, type ValidationError } from 'class-validator';
import { isJsonObject, memberNames, objectOf, pointerToken, typedJson, unknownDetail } from '#platform/json';
import { type FieldError, problem } from '#platform/problem';
import {
  type Constructor,
  DEFERRED,
  distinctTags,
  KEPT,
  type Kept,
  membersOf,
  NESTED,
  type OneOf,
  READ_ONLY,
  VALUES,
} from './members';

export interface Shape {
  members: ReadonlySet<string>;
  nested: Record<string, () => Constructor>;
  /** Members that are arrays. */
  lists: ReadonlySet<string>;
  /** Maximum lengths of members that are arrays. */
  lengths: ReadonlyMap<string, number>;
  /** Members declared with `@IsTags()`. */
  tags: ReadonlySet<string>;
  /** Members that are accepted and ignored. */
  readOnly: ReadonlySet<string>;
  /** Members that keep their JSON as sent. */
  kept: Readonly<Record<string, Kept | undefined>>;
  /** The list whose elements are separate. */
  separate: string | undefined;
  deferred: boolean;
  values: OneOf[];
}

/** Validators of members that are stored as sent. */
const FREE_FORM = ['isJson', 'isJsonObject'];

const shapes = new Map<Constructor, Shape>();

keepDeclarations();

/**
 * Makes class-validator find the declarations of a class once. It would search those of all classes for each object, which
 * takes a tenth of the time for a list.
 */
function keepDeclarations(): void {
  const storage = getMetadataStorage();
  const search = storage.getTargetValidationMetadatas.bind(storage);
  const found = new Map<unknown, ReturnType<typeof search>>();
  storage.getTargetValidationMetadatas = (type, schema, always, strictGroups, groups) => {
    if (schema || always || strictGroups || groups) return search(type, schema, always, strictGroups, groups);
    let declarations = found.get(type);
    if (!declarations) found.set(type, (declarations = search(type, schema, always, strictGroups)));
    return declarations;
  };
}

/** Returns the declarations of a DTO's decorators. */
export function shapeOf(type: Constructor): Shape {
  let shape = shapes.get(type);
  if (!shape) {
    const metadata = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
    const kept = {
      ...Object.fromEntries(
        metadata.flatMap((one) => (FREE_FORM.includes(one.name ?? '') ? [[one.propertyName, {}]] : [])),
      ),
      ...(Reflect.getMetadata(KEPT, type.prototype as object) as Shape['kept'] | undefined),
    } as Shape['kept'];
    shape = {
      members: new Set(metadata.map((one) => one.propertyName)),
      nested: (Reflect.getMetadata(NESTED, type.prototype as object) as Shape['nested'] | undefined) ?? {},
      lists: new Set(metadata.flatMap((one) => (one.name === 'isArray' ? [one.propertyName] : []))),
      lengths: new Map(
        metadata.flatMap((one) =>
          one.name === 'arrayMaxSize' ? [[one.propertyName, one.constraints[0] as number]] : [],
        ),
      ),
      tags: new Set(metadata.flatMap((one) => (one.name === 'isTags' ? [one.propertyName] : []))),
      readOnly: readOnlyMembersOf(type),
      kept,
      separate: Object.keys(kept).find((member) => kept[member]?.isSeparate),
      deferred: Reflect.getMetadata(DEFERRED, type) === true,
      values: (Reflect.getMetadata(VALUES, type.prototype as object) as OneOf[] | undefined) ?? [],
    };
    shapes.set(type, shape);
  }
  return shape;
}

function readOnlyMembersOf(type: Constructor): ReadonlySet<string> {
  const view = Reflect.getMetadata(READ_ONLY, type) as (() => Constructor) | undefined;
  return new Set(view ? membersOf(view()) : []);
}

/** How `instantiate` treats a member that a DTO does not declare. */
export type UnknownMembers = 'refuse' | 'ignore';

/**
 * Creates a DTO from a parsed body, with its declared members unchanged and DTOs for nested ones. Reports unknown members
 * and lists that are too long, which it truncates. Unlike class-transformer it does not copy deeply, so that a free-form
 * value keeps its identity, members and order.
 */
export function instantiate(
  type: Constructor,
  source: Record<string, unknown>,
  pointer: string,
  errors: FieldError[],
  unknown: UnknownMembers = 'refuse',
): object {
  const { members, nested, lists, lengths, tags, kept, readOnly } = shapeOf(type);
  const dto = new type() as Record<string, unknown>;
  for (const member of members) {
    if (!Object.hasOwn(source, member)) continue;
    const place = `${pointer}/${member}`;
    const sent = nested[member] ? source[member] : typedValue(source[member], kept[member], place);
    const input = tags.has(member) ? distinctTags(sent) : sent;
    const value = truncated(input, lengths.get(member), place, errors);
    const nestedType = nested[member]?.();
    // class-validator would accept a list instead of an object
    if (nestedType && !lists.has(member) && !isJsonObject(value ?? {})) {
      errors.push({ pointer: place, detail: 'must be an object' });
      continue;
    }
    const isInstantiated = nestedType && lists.has(member) === Array.isArray(value);
    dto[member] = isInstantiated ? instantiateNested(nestedType, value, place, errors) : value;
  }
  if (unknown === 'refuse') {
    for (const member of Object.keys(source)) {
      if (members.has(member) || readOnly.has(member)) continue;
      if (errors.length >= ERRORS_MAX) break;
      errors.push({ pointer: `${pointer}/${pointerToken(member)}`, detail: unknownDetail(member, members) });
    }
  }
  return dto;
}

/** Converts the value of a member, unless it keeps its JSON. Throws a `JsonInputError`. */
function typedValue(value: unknown, kept: Kept | undefined, pointer: string): unknown {
  return kept && !kept.at ? value : typedJson(value, pointer, kept?.at);
}

/**
 * Returns a copy of a parsed object whose members have the values that a DTO has. Unlike `instantiate`, validates nothing.
 *
 * @throws JsonInputError for a value that a member cannot hold
 */
export function typedMembers(type: Constructor, source: Record<string, unknown>): Record<string, unknown> {
  const { members, kept } = shapeOf(type);
  const names = memberNames(source);
  const valueOf = (name: string): unknown =>
    members.has(name) ? typedValue(source[name], kept[name], `/${name}`) : source[name];
  return objectOf(names, names.map(valueOf));
}

/** Maximum number of faults to report for a body, because it may have a million of them. */
export const ERRORS_MAX = 100;

/**
 * Truncates a list that is too long, because a body may contain millions of elements, and class-validator passes each of
 * them to each validator before it reports the length.
 */
function truncated(
  value: unknown,
  lengthMax: number | undefined,
  pointer: string,
  errors: FieldError[],
): unknown {
  if (lengthMax === undefined || !Array.isArray(value) || value.length <= lengthMax) return value;
  errors.push({ pointer, detail: `must have at most ${lengthMax} elements` });
  return value.slice(0, lengthMax);
}

/** Maximum length of a list of nested objects. Validating a million of them would block other requests for seconds. */
export const NESTED_MAX = 1_000;

function instantiateNested(
  type: Constructor,
  value: unknown,
  pointer: string,
  errors: FieldError[],
): unknown {
  if (!Array.isArray(value)) return isJsonObject(value) ? instantiate(type, value, pointer, errors) : value;
  if (value.length > NESTED_MAX) {
    errors.push({ pointer, detail: `must have at most ${NESTED_MAX} elements` });
    return undefined;
  }
  return value.map((one: unknown, index) => {
    if (isJsonObject(one)) return instantiate(type, one, `${pointer}/${index}`, errors);
    // class-validator would look into lists of lists, and skip null
    errors.push({ pointer: `${pointer}/${index}`, detail: 'must be an object' });
    return undefined;
  });
}

/** Constraints on the type of a value. When one is broken, the others add only noise. */
const TYPE_CONSTRAINTS = ['isString', 'isInt', 'isNumber', 'isBoolean', 'isArray', 'isObject', 'isNotNull'];

/** Plainer forms of class-validator's default messages, without the name of the member. */
const PLAIN_FORMS: (readonly [RegExp, string])[] = [
  [/ conforming to the specified constraints$/, ''],
  [/must be longer than or equal to (\d+) characters$/, 'must have at least $1 characters'],
  [/must be shorter than or equal to (\d+) characters$/, 'must have at most $1 characters'],
  [/must contain at least (\d+) elements$/, 'must have at least $1 elements'],
  [/must contain no more than (\d+) elements$/, 'must have at most $1 elements'],
  [/must not be less than /, 'must be at least '],
  [/must not be greater than /, 'must be at most '],
  [/must be an integer number$/, 'must be an integer'],
  [/must be a boolean value$/, 'must be true or false'],
  [/ 1 (character|element)s$/, ' 1 $1'],
];

/** Returns the faults that class-validator found, each with its JSON pointer. */
export function fieldErrors(faults: ValidationError[], pointer = ''): FieldError[] {
  return faults.flatMap((fault) => {
    const place = `${pointer}/${pointerToken(fault.property)}`;
    // class-validator treats a value that should be a list as its only element
    const children = fault.constraints?.isArray === undefined ? (fault.children ?? []) : [];
    return [...ownErrors(fault, place), ...fieldErrors(children, place)];
  });
}

function ownErrors({ constraints = {}, property, value }: ValidationError, pointer: string): FieldError[] {
  const broken = Object.keys(constraints);
  if (broken.length > 0 && value === undefined) return [{ pointer, detail: 'is required' }];
  const first = TYPE_CONSTRAINTS.find((name) => broken.includes(name));
  return (first === undefined ? broken : [first]).map((name) => ({
    pointer,
    detail: PLAIN_FORMS.reduce(
      (detail, [form, plain]) => detail.replace(form, plain),
      constraints[name]!.replace(new RegExp(`^(each value in )?${property} `), (_, each) =>
        each ? 'each element ' : '',
      ),
    ),
  }));
}

/** Throws 422 `validation_failed` when an enumerated member of a DTO, or of one nested in it, has an unknown value. */
export function checkValues(dto: object): void {
  const errors = valueErrors(dto, '');
  if (errors.length > 0) throw problem.validationFailed(errors);
}

export function valueErrors(dto: object, pointer: string): FieldError[] {
  const { values, nested } = shapeOf(dto.constructor as Constructor);
  const source = dto as Record<string, unknown>;
  const own = values.flatMap(({ member, values: options, each }) => {
    const input = source[member];
    const isUnknown = (value: unknown): boolean =>
      value !== undefined && value !== null && !options.includes(value as string);
    const detail = `must be one of ${options.join(', ')}`;
    const place = `${pointer}/${member}`;
    if (!each || !Array.isArray(input)) return isUnknown(input) ? [{ pointer: place, detail }] : [];
    return input.flatMap((value: unknown, i) =>
      isUnknown(value) ? [{ pointer: `${place}/${i}`, detail }] : [],
    );
  });
  const below = Object.keys(nested).flatMap((member) => {
    const value = source[member];
    if (Array.isArray(value))
      return value.flatMap((one: unknown, i) =>
        isJsonObject(one) ? valueErrors(one, `${pointer}/${member}/${i}`) : [],
      );
    return isJsonObject(value) ? valueErrors(value, `${pointer}/${member}`) : [];
  });
  return [...own, ...below];
}
