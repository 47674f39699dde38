import 'reflect-metadata';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import {
  IsString,
  length,
  registerDecorator,
  ValidateIf,
  ValidateNested,
  type ValidationArguments,
} from 'class-validator';
import { isObjectValue, toRawJson } from '#platform/json';

export type Constructor = new () => object;

/** The static method with which the OpenAPI plugin of the build lists the members that a class declares itself. */
export const PLUGIN_METADATA = '_OPENAPI_METADATA_FACTORY';

/** A DTO class, once the plugin has described its members. */
export type DescribedType = Partial<Record<typeof PLUGIN_METADATA, () => Record<string, object>>>;

/** Returns the members of a DTO class: its own, then those it inherits. */
export function membersOf(type: Constructor): string[] {
  const members = new Set<string>();
  for (let one: object | null = type; one; one = Object.getPrototypeOf(one) as object | null) {
    if (!Object.hasOwn(one, PLUGIN_METADATA)) continue;
    for (const member of Object.keys((one as DescribedType)[PLUGIN_METADATA]!())) members.add(member);
  }
  // the plugin also lists the members of mapped types such as `PickType`, but not of classes outside of *.dto.ts
  for (const member of Object.keys(new type())) members.add(member);
  return [...members];
}

/** Metadata keys that `shapeOf` reads. */
export const NESTED = Symbol('nested');
export const READ_ONLY = Symbol('readOnly');
export const VALUES = Symbol('values');
export const KEPT = Symbol('kept');
export const DEFERRED = Symbol('deferred');

/** An enumerated member. */
export interface OneOf {
  member: string;
  values: readonly string[];
  each: boolean;
}

/** Declares a member that is another DTO or, with `@IsArray()`, a list of them. */
export const Nested =
  (type: () => Constructor): PropertyDecorator =>
  (target, property) => {
    addTo(NESTED, target, property, type);
    ValidateNested()(target, property);
  };

/** How a member keeps its JSON. */
export interface Kept {
  /** Tells which values inside are free-form, by their paths. Default: all. */
  at?: (path: readonly (string | number)[]) => boolean;
  /** An element that the parser rejects does not fail the others: it becomes an `InvalidJson`, which `validateBody` rejects. */
  isSeparate?: boolean;
}

/**
 * Declares that a member keeps its JSON like one with `@IsJson()`, with NUL characters and numbers as `RawJson`s, because the
 * service stores or validates it. The values of other members are converted by `typedJson`.
 */
export const KeepsJson =
  (kept: Kept = {}): PropertyDecorator =>
  (target, property) =>
    addTo(KEPT, target, property, kept);

function addTo(key: symbol, target: object, property: string | symbol, value: unknown): void {
  const others = Reflect.getMetadata(key, target) as object | undefined;
  Reflect.defineMetadata(key, { ...others, [property]: value }, target);
}

/**
 * Accepts and ignores the members of a view that this body does not declare, so that a client can read a resource,
 * change it and send it back. Any other unknown member is 400.
 */
export const ReadOnlyMembersOf =
  (view: () => Constructor): ClassDecorator =>
  (target) =>
    Reflect.defineMetadata(READ_ONLY, view, target);

/**
 * Leaves the values of enumerated members to the service, which calls `checkValues` after it has checked the existence and
 * state of the object that the path names.
 */
export const ValuesCheckedLater = (): ClassDecorator => (target) =>
  Reflect.defineMetadata(DEFERRED, true, target);

/**
 * For each value of a member, the other members that depend on it: true if the object must have it, false if it may, or the
 * schema that it then has. Where a member is not listed, it must be absent or null.
 */
export type Variants = Record<string, Record<string, boolean | object>>;

/** Extension that carries the variants of an object to the OpenAPI document, which has a schema for each. */
export const VARIANTS_EXTENSION = 'x-variants';

type OneOfOptions = ApiPropertyOptions & {
  each?: boolean;
  /** Describes the body in OpenAPI as a union that this member discriminates. It is not validated here. */
  variants?: Variants;
};

/** Declares a member with known values. Another type is 400, another value 422. */
export const IsOneOf =
  (values: readonly string[], options: OneOfOptions = {}): PropertyDecorator =>
  (target, property) => {
    const { each = false, variants, ...others } = options;
    const api = { ...others, ...(variants && { [VARIANTS_EXTENSION]: variants }) };
    const member = String(property);
    const entries = (Reflect.getMetadata(VALUES, target) as OneOf[] | undefined) ?? [];
    const inherited = entries.filter((one) => one.member !== member); // a subclass may know other values
    Reflect.defineMetadata(VALUES, [...inherited, { member, values, each }], target);
    IsString({ each })(target, property);
    ApiProperty({ ...api, enum: [...values], isArray: each } as ApiPropertyOptions)(target, property);
  };

/** Declares a member of a response that is any JSON value. */
export const AnyJson = (options: ApiPropertyOptions = {}): PropertyDecorator =>
  ApiProperty({ ...options, ...ANY_JSON } as ApiPropertyOptions);

/** Declares a member of a response that is any JSON object. */
export const AnyJsonObject = (options: ApiPropertyOptions = {}): PropertyDecorator =>
  ApiProperty({ ...options, type: 'object', additionalProperties: true } as ApiPropertyOptions);

/** Options of free-form members. */
type FreeFormOptions = ApiPropertyOptions & {
  /** The service reads the value, so its numbers are doubles. Otherwise, it keeps them as sent. */
  isRead?: boolean;
};

/** Declares a member that is any JSON value, including null, and is stored as sent. */
export const IsJson =
  ({ isRead = false, ...options }: FreeFormOptions = {}): PropertyDecorator =>
  (target, property) => {
    ApiProperty({ ...options, ...ANY_JSON } as ApiPropertyOptions)(target, property);
    registerDecorator({
      name: isRead ? 'isReadJson' : 'isJson',
      target: target.constructor,
      propertyName: String(property),
      validator: {
        validate: (value: unknown) => value !== undefined,
        defaultMessage: () => 'is required and can be any JSON value',
      },
    });
  };

/**
 * Declares a JSON object that is stored as sent.
 *
 * @param options.maxBytes largest JSON text, in bytes of UTF-8
 */
export const IsJsonObject =
  (options: FreeFormOptions & { maxBytes?: number } = {}): PropertyDecorator =>
  (target, property) => {
    const { maxBytes, isRead = false, ...api } = options;
    ApiProperty({ ...api, type: 'object', additionalProperties: true } as ApiPropertyOptions)(
      target,
      property,
    );
    registerDecorator({
      name: isRead ? 'isReadJsonObject' : 'isJsonObject',
      target: target.constructor,
      propertyName: String(property),
      validator: {
        validate: (value: unknown) =>
          isObjectValue(value) && (!maxBytes || Buffer.byteLength(toRawJson(value).text) <= maxBytes),
        defaultMessage: () =>
          maxBytes ? `must be an object of at most ${maxBytes / 1024} KiB as JSON` : 'must be an object',
      },
    });
  };

/** Declares a member that may be absent but, unlike one with `@IsOptional()`, not null. */
export const NotNull = (): PropertyDecorator => ValidateIf((_, value) => value !== undefined);

const TAGS_MAX = 100;
const TAG_LENGTH_MAX = 255;

function tagsFault(tags: unknown): string | null {
  if (!Array.isArray(tags)) return 'must be an array';
  // checked before the elements, because a body may contain a million of them
  if (tags.length > TAGS_MAX) return `must have at most ${TAGS_MAX} elements`;
  return tags.every((tag) => length(tag, 1, TAG_LENGTH_MAX))
    ? null
    : `must contain only strings of 1 to ${TAG_LENGTH_MAX} characters`;
}

/** Returns each tag once, in the order of first appearance. Returns values that `IsTags` rejects unchanged. */
export const distinctTags = (tags: unknown): unknown =>
  Array.isArray(tags) && tags.length <= TAGS_MAX ? [...new Set<unknown>(tags)] : tags;

/** Declares the tags of a resource: at most 100 strings of 1 to 255 characters. Duplicates are dropped. */
export const IsTags = (): PropertyDecorator => (target, property) => {
  ApiProperty({
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: TAG_LENGTH_MAX },
    maxItems: TAGS_MAX,
    required: false,
  } as ApiPropertyOptions)(target, property);
  registerDecorator({
    name: 'isTags',
    target: target.constructor,
    propertyName: String(property),
    validator: {
      validate: (value: unknown) => tagsFault(value) === null,
      defaultMessage: ({ value }: ValidationArguments) => tagsFault(value) ?? '',
    },
  });
};

/** OpenAPI schema of any JSON value. */
export const ANY_JSON: ApiPropertyOptions = {
  oneOf: [
    { type: 'object', additionalProperties: true },
    { type: 'array', items: {} },
    { type: 'string' },
    { type: 'number' },
    { type: 'boolean' },
    { type: 'null' },
  ],
} as ApiPropertyOptions;

/**
 * Declares the upper end of a range, which must not be below the member with the lower end.
 *
 * @param order returns the sort key of a value; null for a malformed value, which other validators report
 */
export const NotBelow =
  (lower: string, order: (value: unknown) => number | null): PropertyDecorator =>
  (target, property) => {
    registerDecorator({
      name: 'notBelow',
      target: target.constructor,
      propertyName: String(property),
      validator: {
        validate: (value: unknown, { object }: ValidationArguments) => {
          const [from, to] = [order((object as Record<string, unknown>)[lower]), order(value)];
          return from === null || to === null || from <= to;
        },
        defaultMessage: () => `must not be below ${lower}`,
      },
    });
  };
