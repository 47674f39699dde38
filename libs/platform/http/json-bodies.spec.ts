import { IsArray, ArrayMaxSize, IsInt, IsOptional, IsString, IsObject, Length } from 'class-validator';
import fc from 'fast-check';
import { INLINE_JSON_MAX, JsonInputError, parseJson, toJsonText } from '#platform/json';
import { JsonPool, JsonThreads } from '#platform/json-threads';
import { Problem } from '#platform/problem';
import { condense, expand } from '../json-threads/outline';
import { outlineOf } from './body-outline';
import { JsonBodies, parseBody } from './json-bodies';
import {
  IsJson,
  IsJsonObject,
  IsOneOf,
  IsTags,
  ItemsOf,
  Nested,
  NotNull,
  ReadOnlyMembersOf,
} from './members';
import { validateBody } from './validation.pipe';

class ViewDto {
  id!: string;
  at!: string;
}

class PartDto {
  @IsOneOf(['a', 'b'])
  kind!: string;

  @IsOptional()
  @IsJson()
  value?: unknown;
}

@ReadOnlyMembersOf(() => ViewDto)
class ItemDto {
  @IsString()
  @Length(1, 5)
  name!: string;

  @IsJson()
  input!: unknown;
}

@ReadOnlyMembersOf(() => ViewDto)
class BodyDto {
  @NotNull()
  @IsString()
  name?: string;

  @IsOptional()
  @IsInt()
  count?: number | null;

  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  @IsOptional()
  @IsJson()
  input?: unknown;

  @IsOptional()
  @IsJson({ isRead: true })
  read?: unknown;

  @IsOptional()
  @IsJsonObject({ maxBytes: 1024 })
  metadata?: object | null;

  @IsOptional()
  @IsObject()
  definition?: object;

  @IsOptional()
  @Nested(() => PartDto)
  part?: PartDto | null;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(2)
  @Nested(() => PartDto)
  parts?: PartDto[];

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(3)
  calls?: unknown[];

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(2)
  @ItemsOf(() => ItemDto, { isSeparate: true })
  items?: unknown[];
}

/** JSON text of an object, as a string, because JavaScript would change the order of its members. */
class Text {
  constructor(readonly text: string) {}
}

/** Values that JavaScript would change, or that no body may contain, as JSON text. */
const CRITICAL = ['9007199254740993', '1.0', '-0', '1e400', '1e-400', '"\\u0000"', '"\\ud800"'].map(
  (text) => new Text(text),
);

const names = [
  ...['name', 'count', 'tags', 'input', 'read', 'metadata', 'definition', 'part', 'parts', 'calls', 'items'],
  ...['id', 'kind', 'value', 'nam', '__proto__', 'constructor', '1', '0', 'toJSON', ''],
];
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(fc.constantFrom('a', 'b', 'c', ''), fc.integer(), fc.boolean(), fc.constant(null), fc.double()),
    fc.constantFrom(...CRITICAL),
    fc.string({ minLength: 1_000, maxLength: 1_200 }),
    fc.array(tie('json'), { maxLength: 5 }),
    members(tie('json')),
  ),
}));

function members(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 8 })
    .map(
      (list) =>
        new Text(`{${list.map(([name, one]) => `${JSON.stringify(name)}:${written(one)}`).join(',')}}`),
    );
}

function written(value: unknown): string {
  if (value instanceof Text) return value.text;
  if (Array.isArray(value)) return `[${value.map(written).join(',')}]`;
  return JSON.stringify(value) ?? 'null';
}

/** Returns what a body results in for its client: the fault, or the values that would be stored. */
function outcome(read: () => unknown): unknown {
  try {
    const dto = validateBody(BodyDto, read());
    const items = dto.items?.map(outcomeOfItem);
    const { items: _, ...others } = dto;
    return [
      Object.entries(others).map(([name, value]) => [name, value === undefined ? '' : toJsonText(value)]),
      items,
    ];
  } catch (error) {
    return faultsOf(error);
  }
}

function outcomeOfItem(item: unknown): unknown {
  try {
    return toJsonText(validateBody(ItemDto, item));
  } catch (error) {
    return faultsOf(error);
  }
}

const matching = (expected: unknown): unknown =>
  expected instanceof RegExp ? expect.stringMatching(expected) : expected;

function faultsOf(error: unknown): unknown {
  if (error instanceof JsonInputError) return error.detail;
  if (!(error instanceof Problem)) throw error;
  return [error.code, error.detail, error.errors];
}

describe('a large body', () => {
  const pool = new JsonPool();
  const bodies = new JsonBodies(new JsonThreads(pool));
  afterAll(() => pool.close());

  const NEVER = new AbortController().signal;
  const parse = (text: string, type?: new () => object): Promise<unknown> =>
    bodies.parse('org', NEVER, Buffer.from(text), type);
  /** Makes a body too long for the event loop. */
  const long = (text: string): string => text + ' '.repeat(INLINE_JSON_MAX);

  it('is read like a small one, whatever it contains', () => {
    const outline = outlineOf(BodyDto);
    fc.assert(
      fc.property(members(json), (text) => {
        const bytes = Buffer.from(written(text));
        const parsed = (): unknown => parseJson(bytes, outline);
        const inThread = (): unknown => expand(structuredClone(condense(parsed(), outline)), outline);
        expect(outcome(inThread)).toEqual(outcome(parsed));
      }),
      { numRuns: 500 },
    );
  });

  it.each<[string, string]>([
    [
      'every kind of member',
      '{"name":"n","count":1,"tags":["a"],"input":{"1":0,"0":[1e3]},"part":{"kind":"a"},"calls":[{},1]}',
    ],
    ['members of the wrong type', '{"name":{"a":1},"count":[],"tags":{},"part":[],"parts":{},"items":"x"}'],
    [
      'lists that are too long',
      '{"tags":[[],{}],"parts":[{"kind":"a"},{},{"x":1}],"calls":[1,2,3,4,5],"items":[1,2,3]}',
    ],
    ['too many unknown members', `{${Array.from({ length: 300 }, (_, n) => `"k${n}":[${n}]`).join(',')}}`],
    ['read-only members', '{"id":{},"at":[[]],"name":"n"}'],
    ['a list', '[{"name":"n"}]'],
  ])('has the same result as a small one: %s', async (_, text) => {
    const parsed = await parse(long(text), BodyDto);
    expect(outcome(() => parsed)).toEqual(outcome(() => parseBody(Buffer.from(text), BodyDto)));
  });

  it.each<[string, string]>([
    ['a body that is cut off', '{"input":[{},{},'],
    ['a NUL character in a typed member', '{"name":"\\u0000"}'],
    ['an integer that a typed member cannot hold', '{"read":{"a":[1,9007199254740993]}}'],
    ['a number that is not finite', '{"input":{"a":[1,1e400]}}'],
    ['half of a surrogate pair', '{"input":["\\ud800"]}'],
    ['too many levels', `{"input":${'['.repeat(64)}${']'.repeat(64)}}`],
  ])('has the same fault as a small one: %s', async (_, text) => {
    const fault = await parse(long(text), BodyDto).catch((error: unknown) => error);
    const expected = (): unknown => parseBody(Buffer.from(long(text)), BodyDto);
    expect(faultsOf(fault)).toEqual(outcome(expected));
  });

  it.each(['small', 'large'])('keeps what JavaScript would change in free-form members: %s', async (size) => {
    const input =
      '{"id":9007199254740993,"f":[1.0,-0,1e5,0.1000000000000000000001,1e-400],"\\u0000":"a\\u0000b"}';
    const text = `{"input":${input},"calls":[1.50],"items":[{"name":"a","input":12345678901234567890}]}`;
    const body = await parse(size === 'large' ? long(text) : text, BodyDto);
    expect(toJsonText(body)).toBe(text);
  });

  it.each(['small', 'large'])('rejects only the items that cannot be read: %s', async (size) => {
    const items = '[{"name":"a","input":[1e400]},{"name":"b","input":{"a":["\\ud800",[]]}}]';
    const text = `{"items":${items}}`;
    const body = (await parse(size === 'large' ? long(text) : text, BodyDto)) as { items: unknown[] };
    const [first, second] = body.items.map((item) => outcomeOfItem(item));
    expect(first).toMatchObject(['invalid_request', /too large/, [{ pointer: '/input/0' }]].map(matching));
    expect(second).toMatchObject(['invalid_request', /surrogate/, [{ pointer: '/input/a/0' }]].map(matching));
  });

  it('is rejected as a whole if it is not JSON, even after an item that cannot be read', async () => {
    for (const text of ['{"items":[{"input":1e400},{]}', '{"items":[{"input":"\\ud800"},{}]']) {
      await expect(parse(text, BodyDto)).rejects.toMatchObject({
        detail: expect.stringMatching(/^The body is not JSON/) as string,
      });
    }
    const deep = `{"items":[{"input":${'['.repeat(100_000)}${']'.repeat(100_000)}},{"name":"a","input":1}]}`;
    const { items } = (await parse(deep, BodyDto)) as { items: unknown[] };
    expect(outcomeOfItem(items[0])).toEqual(
      ['invalid_request', /64 levels/, expect.anything()].map(matching),
    );
    expect(outcomeOfItem(items[1])).toBe('{"name":"a","input":1}');
  });

  it('may contain any number of free-form values, but only a limited number of others', async () => {
    const many = `[0${',0'.repeat(INLINE_JSON_MAX)}]`;
    const { input } = (await parse(`{"input":${many}}`, BodyDto)) as { input: unknown };
    expect(toJsonText(input)).toBe(many);
    await expect(parse(`{"definition":{"a":${many}}}`, BodyDto)).rejects.toMatchObject({
      code: 'payload_too_large',
    });
  });

  it('is read in turns, so that an organization waits only for its own bodies', async () => {
    const text = `{"input":[${'{"1":[]},'.repeat(100_000)}0]}`;
    let done = 0;
    const own = Array.from({ length: 4 }, () => parse(text, BodyDto).then(() => (done += 1)));
    const other = await bodies.parse('other', NEVER, Buffer.from(long('{"name":"n"}')), BodyDto);
    expect(other).toEqual({ name: 'n' });
    expect(done).toBeLessThan(4);
    await Promise.all(own);
  });
});
