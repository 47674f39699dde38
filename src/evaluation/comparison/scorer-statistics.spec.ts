import { Pace } from '#platform/turns';
import { pairedOf } from './comparison.fixture';
import { pairedDifference, verdictOf } from './scorer-statistics';

describe('a verdict', () => {
  const found = { difference: 0.1, interval: { lower: 0.01, upper: 0.2 }, pValue: 0.049 };

  it('needs both the test and the interval', () => {
    expect(verdictOf(found)).toBe('improved');
    expect(verdictOf({ ...found, pValue: 0.05 })).toBe('inconclusive');
    expect(verdictOf({ ...found, interval: { lower: 0, upper: 0.2 } })).toBe('inconclusive');
    expect(verdictOf({ ...found, interval: null })).toBe('inconclusive');
    const worse = { difference: -0.1, interval: { lower: -0.2, upper: -0.01 }, pValue: 0.049 };
    expect(verdictOf(worse)).toBe('regressed');
    expect(verdictOf({ ...worse, interval: { lower: -0.2, upper: 0 } })).toBe('inconclusive');
  });
});

describe('what takes long', () => {
  /** Differences of which a few are so large that they are drawn, not worked out. */
  const scores = Array.from({ length: 5_000 }, (_, i): [number, number] => [
    ((i * 7_919) % 5_003) / 5_003 + (i % 1_000 === 0 ? 1_000 : 0),
    ((i * 104_729) % 5_009) / 5_009,
  ]);

  it('lets others have their turns', async () => {
    const cases = await pairedOf(scores);
    let turns = 0;
    const count = (): void => {
      turns++;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    await pairedDifference(cases, 's', ['a', 'b'], { pace: new Pace(), scorers: 1 });
    clearImmediate(next);
    expect(turns).toBeGreaterThan(5);
  });

  it('has one interval, however many scorers are compared, and a p-value in larger steps where there are many', async () => {
    const cases = await pairedOf(scores);
    const among = (scorers: number) =>
      pairedDifference(cases, 's', ['a', 'b'], { pace: new Pace(), scorers });
    const [alone, many] = [await among(1), await among(100)];
    expect(many.interval).toEqual(alone.interval);
    expect(many.pValue! * 1_000).toBeCloseTo(Math.round(many.pValue! * 1_000), 9);
    expect(many.pValue).not.toBe(alone.pValue);
    expect(Math.abs(many.pValue! - alone.pValue!)).toBeLessThan(0.06);
  });

  it('ends as soon as nobody waits for it any more', async () => {
    const cases = await pairedOf(scores);
    const ending = new AbortController();
    let turns = 0;
    const count = (): void => {
      if (++turns === 2) ending.abort(new Error('the client has gone'));
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    const working = pairedDifference(cases, 's', ['a', 'b'], { pace: new Pace(ending.signal), scorers: 1 });
    await expect(working).rejects.toThrow('the client has gone');
    clearImmediate(next);
    expect(turns).toBeLessThan(5);
  });
});
