import fc from 'fast-check';
import { CASE_SORTS, orderCases } from './case-page';
import { outcomeOf, OUTCOMES } from '../../statistics';

describe('orderCases', () => {
  const difference = fc.oneof(
    fc.integer({ min: -2, max: 2 }),
    fc.double({ noNaN: false, noDefaultInfinity: true }).map((one) => (one === 0 ? 0 : one)),
  );

  it('sorts by difference, then by key, with missing differences last, also within each outcome', () => {
    fc.assert(
      fc.property(fc.array(difference, { maxLength: 40 }), (values) => {
        const differences = Float64Array.from(values);
        // a case that has changed has no difference
        const isChanged = Uint8Array.from(values, (value, i) => Number(Number.isNaN(value) && i % 2 === 0));
        const rank = (index: number, sign: number): number =>
          Number.isNaN(values[index]!) ? Infinity : sign * values[index]!;
        for (const sort of CASE_SORTS) {
          const sign = sort === 'difference' ? 1 : -1;
          const sorted = [...values.keys()].sort((a, b) =>
            rank(a, sign) < rank(b, sign) ? -1 : rank(a, sign) > rank(b, sign) ? 1 : a - b,
          );
          expect([...orderCases(differences, isChanged, sort, undefined)]).toEqual(sorted);
          for (const outcome of OUTCOMES) {
            const own = sorted.filter(
              (index) => outcomeOf(values[index]!, isChanged[index] === 1) === outcome,
            );
            expect([...orderCases(differences, isChanged, sort, outcome)]).toEqual(own);
          }
        }
      }),
    );
  });

  it('sorts zeros of either sign by key', () => {
    const differences = Float64Array.of(0, -0, 1, 0, -1, -0);
    const isChanged = new Uint8Array(6);
    expect([...orderCases(differences, isChanged, 'difference', undefined)]).toEqual([4, 0, 1, 3, 5, 2]);
    expect([...orderCases(differences, isChanged, '-difference', undefined)]).toEqual([2, 0, 1, 3, 5, 4]);
  });
});
