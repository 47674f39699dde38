import { setLogLevel } from '#platform/logging';
import { Metrics } from './metrics';

const AFTER_CACHE_MS = 5_000;
const DEADLINE_MS = 3_000;

describe('the metrics of a source', () => {
  let metrics: Metrics;
  let answers: (() => Promise<number>)[];
  let reads: number;

  beforeEach(() => {
    setLogLevel('silent');
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
    metrics = new Metrics();
    answers = [];
    reads = 0;
    const gauge = metrics.gauge('level', 'Level of the river.');
    const parts = metrics.gauge('level_parts', 'Parts of the level.', ['part']);
    metrics.addSource({
      name: 'river',
      gauges: [gauge, parts],
      read: async () => {
        reads++;
        const level = await (answers.shift() ?? (() => Promise.resolve(1)))();
        return () => {
          gauge.set(level);
          parts.set({ part: 'water' }, level);
        };
      },
    });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const valuesOf = (text: string) => ({
    level: /^registry_level (\S+)$/m.exec(text)?.[1],
    part: /^registry_level_parts\{part="water"\} (\S+)$/m.exec(text)?.[1],
    up: /^registry_metrics_source_up\{source="river"\} (\S+)$/m.exec(text)?.[1],
    failures: /^registry_metrics_source_failures_total\{source="river"\} (\S+)$/m.exec(text)?.[1],
  });
  const read = async () => valuesOf(await metrics.text());

  it('are read once for all scrapes within some seconds', async () => {
    answers.push(() => Promise.resolve(7));
    const all = await Promise.all(Array.from({ length: 50 }, read));
    expect(all[49]).toEqual({ level: '7', part: '7', up: '1', failures: '0' });
    expect(await read()).toEqual(all[0]);
    expect(reads).toBe(1);
    jest.advanceTimersByTime(AFTER_CACHE_MS);
    expect((await read()).level).toBe('1');
    expect(reads).toBe(2);
  });

  it('are omitted while they cannot be read, which is counted, and return afterwards', async () => {
    await read();
    jest.advanceTimersByTime(AFTER_CACHE_MS);
    answers.push(() => Promise.reject(new Error('away')));
    expect(await read()).toEqual({ level: undefined, part: undefined, up: '0', failures: '1' });
    // a failed read is cached too
    expect((await read()).failures).toBe('1');
    jest.advanceTimersByTime(AFTER_CACHE_MS);
    expect(await read()).toEqual({ level: '1', part: '1', up: '1', failures: '1' });
  });

  it('are omitted if reading takes too long, and are not read again before that read has ended', async () => {
    let answer: (level: number) => void = () => undefined;
    answers.push(() => new Promise((resolve) => (answer = resolve)));
    const scrape = read();
    await jest.advanceTimersByTimeAsync(DEADLINE_MS);
    expect(await scrape).toEqual({ level: undefined, part: undefined, up: '0', failures: '1' });
    jest.advanceTimersByTime(AFTER_CACHE_MS);
    expect(await read()).toMatchObject({ level: undefined, up: '0', failures: '2' });
    expect(reads).toBe(1);
    answer(9);
    await jest.advanceTimersByTimeAsync(AFTER_CACHE_MS);
    // a late result is not used
    expect(await read()).toMatchObject({ level: '1', up: '1' });
  });

  it('are declared once per application', () => {
    expect(() => metrics.counter('level', 'Another.')).toThrow(/level/);
    expect(() => new Metrics().counter('level', 'Another.')).not.toThrow();
  });
});
