import fc from 'fast-check';
import { countValues } from './value-count';

const counted = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 0
    : Object.values(value).reduce((sum: number, one) => sum + 1 + counted(one), 0);
const countIn = (text: string, max = Infinity): number => countValues(Buffer.from(text), max);

describe('countValues', () => {
  it('counts the members and elements of any JSON, however it is written', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2), (value, indent) => {
        expect(countIn(JSON.stringify(value, null, indent))).toBe(counted(JSON.parse(JSON.stringify(value))));
      }),
    );
  });

  it.each([
    ['0', 0],
    ['[ ]', 0],
    ['[[], {"a": {}}]', 3],
    ['["[1,2]", "\\"{,", "\\\\"]', 3],
  ])('counts %s as %d', (text, count) => {
    expect(countIn(text)).toBe(count);
  });

  it('counts numbers of lists less, but not members whose values are numbers', () => {
    const text = Buffer.from('{"a": [1, -2, "3", [4]], "b": 5, "c": [ 0.5 , null]}');
    expect(countValues(text, Infinity, { numberWeight: 0 })).toBe(6);
  });

  it('stops at the maximum', () => {
    expect(countIn(`[${'0,'.repeat(1_000_000)}0]`, 10)).toBe(11);
  });
});
