import fc from 'fast-check';
import { CASE_SORTS, CaseOrder } from './case-order';
import { outcomeOf, OUTCOMES } from './paired-cases';

describe('the order of cases', () => {
  const difference = fc.oneof(
    fc.integer({ min: -2, max: 2 }),
    fc.double({ noNaN: false, noDefaultInfinity: true }).map((one) => (one === 0 ? 0 : one)),
  );

  it('is by difference, then by key, those without one last: all of them, and those of each outcome', () => {
    fc.assert(
      fc.property(fc.array(difference, { maxLength: 40 }), (differences) => {
        const order = new CaseOrder(Float64Array.from(differences));
        const rank = (index: number, sign: number): number =>
          Number.isNaN(differences[index]!) ? Infinity : sign * differences[index]!;
        for (const sort of CASE_SORTS) {
          const sign = sort === 'difference' ? 1 : -1;
          const sorted = [...differences.keys()].sort((a, b) =>
            rank(a, sign) < rank(b, sign) ? -1 : rank(a, sign) > rank(b, sign) ? 1 : a - b,
          );
          expect([...order.places(sort, undefined)]).toEqual(sorted);
          for (const outcome of OUTCOMES) {
            const own = sorted.filter((index) => outcomeOf(differences[index]!) === outcome);
            expect([...order.places(sort, outcome)]).toEqual(own);
          }
        }
      }),
    );
  });

  it('is by key where differences are zeros of either sign', () => {
    const order = new CaseOrder(Float64Array.of(0, -0, 1, 0, -1, -0));
    expect([...order.places('difference', undefined)]).toEqual([4, 0, 1, 3, 5, 2]);
    expect([...order.places('-difference', undefined)]).toEqual([2, 0, 1, 3, 5, 4]);
  });

  it('is found without a call for each comparison, in which others have no turn', () => {
    const sort = jest.spyOn(Object.getPrototypeOf(Int32Array.prototype) as Int32Array, 'sort');
    const order = new CaseOrder(
      Float64Array.from({ length: 20_000 }, (_, i) => ((i * 7_919) % 20_011) - 9_000),
    );
    const comparing = sort.mock.calls.filter(([comparator]) => comparator !== undefined);
    sort.mockRestore();
    expect(comparing).toEqual([]);
    const { differences } = order;
    const places = order.places('difference', undefined);
    expect(places.every((place, i) => i === 0 || differences[places[i - 1]!]! <= differences[place]!)).toBe(
      true,
    );
  });
});
