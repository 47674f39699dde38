import { setImmediate as turn } from 'node:timers/promises';
import { OtlpDecodeError, type OtlpRejection } from '#otlp';
import { workspaceScope } from '#platform/auth';
import { ComputationPool } from '#platform/concurrency';
import { readEnvironment } from '#platform/config';
import { Metrics } from '#platform/metrics';
import { ExportMetrics } from './export.metrics';
import { ExportLimiter, ExportQueue, ExportResources } from './export-queue';
import { JsonReader } from './json-reader';

const NEVER = new AbortController().signal;
const MiB = 1024 * 1024;

/** The content of a test request. */
interface Sketch {
  name: string;
  recordCount?: number;
  repeated?: number;
}

/** A queue that records the groups it stores. */
function queue() {
  const groups: string[][] = [];
  const environment = readEnvironment({ DATABASE_POOL_SIZE: '4' });
  const limiter = new ExportLimiter(environment);
  const exports = new ExportQueue<Sketch & { rejected: OtlpRejection; recordCount: number }, string>(
    new ExportResources(
      new ExportMetrics(new Metrics()),
      limiter,
      new JsonReader(new ComputationPool()),
      environment,
    ),
    {
      signal: 'traces',
      decoder: {
        *steps(bytes) {
          yield;
          const text = bytes.toString().trim();
          if (!text.startsWith('{')) throw new OtlpDecodeError('The body is cut off.');
          return { recordCount: 0, ...(JSON.parse(text) as Sketch), rejected: { count: 0, reasons: [text] } };
        },
        unpack: () => {
          throw new Error('No test reads JSON in a thread.');
        },
      },
      *addRepeated(repeated, sketch) {
        repeated.add(sketch, () => ' '.repeat(sketch.repeated ?? 0));
        yield;
      },
      *prepare({ name }) {
        yield;
        return name;
      },
      store: async (group) => {
        groups.push(group.map(({ ready }) => ready));
        for (let turns = 0; turns < 50; turns++) await turn();
        return undefined;
      },
    },
  );
  const scope = workspaceScope('org', 'wsp', 'test', new Set());
  const send = (text: string) =>
    exports.export(scope, { bytes: Buffer.from(text), encoding: 'protobuf' }, NEVER);
  return { groups, send };
}

describe('ExportQueue', () => {
  it.each([
    ['weight by number of records', (name: string) => JSON.stringify({ name, recordCount: 2_048 })],
    ['repeated parts', (name: string) => JSON.stringify({ name, repeated: 2 * MiB })],
  ])('limits a group to 4 MiB: %s', async (_, bodyOf) => {
    const { groups, send } = queue();
    await Promise.all(['first', 'a', 'b', 'c'].map((name) => send(bodyOf(name))));
    expect(groups).toEqual([['first'], ['a', 'b'], ['c']]);
  });

  it('limits a group to 4 MiB: bytes', async () => {
    const { groups, send } = queue();
    const names = ['first', 'a', 'b', 'c', 'd', 'e'];
    await Promise.all(names.map((name) => send(JSON.stringify({ name }).padEnd(MiB))));
    expect(groups).toEqual([['first'], ['a', 'b', 'c', 'd'], ['e']]);
  });

  it('stores a large export alone, concurrently with small ones', async () => {
    const { groups, send } = queue();
    const large = ['large', 'larger'].map((name) => send(JSON.stringify({ name }).padEnd(2 * MiB)));
    await Promise.all([...large, ...['a', 'b', 'c'].map((name) => send(JSON.stringify({ name })))]);
    expect(groups).toContainEqual(['large']);
    expect(groups).toContainEqual(['larger']);
    expect(groups.flat().sort()).toEqual(['a', 'b', 'c', 'large', 'larger']);
  });

  it.each([
    [2, 2],
    [4, 2],
    [10, 3],
  ])('uses a quarter of %i connections plus one: %i', (size, expected) => {
    const environment = readEnvironment({ DATABASE_POOL_SIZE: String(size) });
    expect(new ExportLimiter(environment).concurrency).toBe(expected);
  });

  it('rejects only the export that cannot be decoded, and returns the rejected records of the others', async () => {
    const { groups, send } = queue();
    const body = JSON.stringify({ name: 'a' });
    const answers = await Promise.allSettled([send('torn'), send(body)]);
    expect(answers).toEqual([
      {
        status: 'rejected',
        reason: expect.objectContaining({ status: 400, detail: 'The body is cut off.' }),
      },
      { status: 'fulfilled', value: { count: 0, reasons: [body] } },
    ]);
    expect(groups).toEqual([['a']]);
  });
});
