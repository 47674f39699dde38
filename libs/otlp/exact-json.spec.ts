import fc from 'fast-check';
import { longDigits, parseExactly } from './exact-json';

/** JSON values, mostly texts that look like long integers, quotes and backslashes. */
const text = fc.string({
  unit: fc.constantFrom('"', '\\', ',', ':', ' ', '[', '1234567890123456789', 'e', '\n'),
});
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !/\d{16}$/.test(`${number}`)),
    fc.array(tie('json')),
    fc.dictionary(text, tie('json')),
  ),
}));

/** Writes a value as JSON, with integers of any size. */
function write(value: unknown, space: string): string {
  const all = (parts: string[]): string => parts.join(`${space},${space}`);
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return `[${space}${all(value.map((one) => write(one, space)))}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([key, one]) => `${JSON.stringify(key)}:${space}${write(one, space)}`,
  );
  return `{${space}${all(members)}}`;
}

/** Restores a written value from a parsed one, with integers of 16 digits and more from their digits. */
function asWritten(value: unknown): unknown {
  const digits = longDigits(value);
  if (digits !== undefined) return BigInt(digits);
  if (Array.isArray(value)) return value.map(asWritten);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, asWritten(one)]));
}

const isLong = (integer: bigint): boolean => /\d{16}/.test(`${integer}`);

/** Short integers are numbers. */
function expected(value: unknown): unknown {
  if (typeof value === 'bigint') return isLong(value) ? value : Number(value);
  if (typeof value === 'number') return JSON.parse(JSON.stringify(value)) as unknown;
  if (Array.isArray(value)) return value.map(expected);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, expected(one)]));
}

describe('parseExactly', () => {
  it('keeps long integers exact, and parses everything else like JSON.parse', () => {
    fc.assert(
      fc.property(json, fc.constantFrom('', ' ', '\n\t'), (value, space) => {
        const written = { value };
        expect(asWritten(parseExactly(write(written, space)))).toEqual(expected(written));
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['[9223372036854775807]', [9223372036854775807n]],
    ['[-9223372036854775808,1]', [-9223372036854775808n, 1]],
    ['[123456789012345]', [123456789012345]],
    ['12345678901234567890', 12345678901234567890n],
    ['\n-1234567890123456 ', -1234567890123456n],
    [
      '[12345678901234567.5, 12345678901234567e2]',
      [Number('12345678901234567.5'), Number('12345678901234567e2')],
    ],
    ['["a\\\\\\", 12345678901234567", 12345678901234567]', ['a\\", 12345678901234567', 12345678901234567n]],
    ['["12345678901234567"]', ['12345678901234567']],
  ])('reads %s', (written, value) => {
    expect(asWritten(parseExactly(written))).toEqual(value);
  });

  it.each([
    '[01234567890123456]',
    '{"a": 1, 12345678901234567: 1}',
    '["a, 12345678901234567',
    '[--12345678901234567]',
  ])('rejects %s like JSON.parse, at the same position', (written) => {
    let refusal: unknown;
    try {
      JSON.parse(written);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(SyntaxError);
    expect(() => parseExactly(written)).toThrow((refusal as Error).message);
  });
});
