import { setImmediate as turn } from 'node:timers/promises';
import { OtlpDecodeError, type OtlpRejection } from '#otlp';
import { workspaceScope } from '#platform/auth';
import { readEnvironment } from '#platform/config';
import { Metrics } from '#platform/metrics';
import { ExportMetrics } from './export.metrics';
import { ExportLimiter, ExportQueue } from './export-queue';

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
  const exports = new ExportQueue<Sketch & { rejected: OtlpRejection; recordCount: number }>(
    new ExportMetrics(new Metrics()),
    new ExportLimiter(readEnvironment({ DATABASE_POOL_SIZE: '4' })),
    {
      signal: 'traces',
      decode: (bytes) => {
        const text = bytes.toString().trim();
        if (!text.startsWith('{')) throw new OtlpDecodeError('The body is cut off.');
        return { recordCount: 0, ...(JSON.parse(text) as Sketch), rejected: { count: 0, reasons: [text] } };
      },
      addRepeated: (repeated, sketch) => repeated.add(sketch, () => ' '.repeat(sketch.repeated ?? 0)),
      store: async (group) => {
        groups.push(group.map(({ request }) => request.name));
        for (let turns = 0; turns < 50; turns++) await turn();
      },
    },
  );
  const scope = workspaceScope('org', 'wsp', 'test', new Set());
  const send = (text: string) => exports.export(scope, { bytes: Buffer.from(text), encoding: 'json' }, NEVER);
  return { groups, send };
}

describe('ExportQueue', () => {
  it.each([
    ['bytes', (name: string) => JSON.stringify({ name }) + ' '.repeat(2 * MiB)],
    ['weight by number of records', (name: string) => JSON.stringify({ name, recordCount: 2_048 })],
    ['repeated parts', (name: string) => JSON.stringify({ name, repeated: 2 * MiB })],
  ])('limits a group to 4 MiB: %s', async (_, bodyOf) => {
    const { groups, send } = queue();
    await Promise.all(['first', 'a', 'b', 'c'].map((name) => send(bodyOf(name))));
    expect(groups).toEqual([['first'], ['a', 'b'], ['c']]);
  });

  it.each([
    [2, 1],
    [4, 1],
    [10, 2],
  ])('stores with a quarter of %i connections: %i', (size, expected) => {
    const environment = readEnvironment({ DATABASE_POOL_SIZE: String(size) });
    expect(new ExportLimiter(environment).concurrency).toBe(expected);
  });

  it('rejects only the export that cannot be decoded, and returns what was left out of the others', async () => {
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
