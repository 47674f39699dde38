/** Expensive work: schemas, locks, imports, scorers. */
import { setTimeout as delay } from 'node:timers/promises';
import { attack } from './attack';
import { Attacker } from './attacker';
import { MIB, newDataset, newScorer, newTrace, traceExport } from './prepared';

const NAMES = Array.from({ length: 1_000 }, (_, n) => n.toString(36).padStart(3, 'n'));
/** Schemas of 54 KB that would take seconds to compile if each list of names became code. */
const DEPENDENT = {
  dependentRequired: Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`x${n}`, NAMES])),
};
const SCHEMAS = [
  DEPENDENT,
  { $defs: { a: { allOf: [{}, DEPENDENT] } }, allOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] },
];

/** A schema with many patterns, which make the validation of a long text slow. */
const COSTLY_INPUT = {
  allOf: Array.from({ length: 20 }, (_, n) => ({ pattern: `(a?b?){${10 + n}}$` })),
};
/** Length of a text that takes about half a second to validate. */
const COSTLY_CHARACTERS = 450_000;

const jsonLine = (n: number): string =>
  `${JSON.stringify({ input: `question ${n} ${'x'.repeat(1_000)}` })}\n`;

export const costlySchemas = attack({
  name: 'costly-schemas',
  title: 'schemas that take seconds to compile',
  sizes: { test: { rounds: 1, each: 1 }, bench: { rounds: 1, each: 1 } },
  async run(attacker, { rounds, each }) {
    const { workspaceId: workspace_id } = attacker.target;
    for (let round = 0; round < rounds; round++) {
      const sent = Array.from({ length: each }, (_, n) => n).flatMap((n) =>
        SCHEMAS.flatMap((schema, which) => {
          const name = `costly ${round} ${n} ${which} ${process.hrtime.bigint()}`;
          // each schema is different, so that none is cached
          const input_schema = { title: name, ...schema };
          const checks = [{ type: 'json_schema', path: 'output', schema: input_schema }];
          const scorer = { workspace_id, name, scorer_kind: 'code', definition: { checks } };
          return [
            attacker.send('POST', '/eval/v1/datasets', {
              body: JSON.stringify({ workspace_id, name, input_schema }),
            }),
            attacker.send('POST', '/eval/v1/scorers', { body: JSON.stringify(scorer) }),
          ];
        }),
      );
      await Promise.all(sent);
    }
  },
});

export const costlyValidation = attack({
  name: 'costly-validation',
  title: 'bulk writes whose items are slow to validate',
  sizes: {
    test: { writers: 5, items: 2 },
    bench: { writers: 12, items: 20 },
  },
  async run(attacker, { writers, items }) {
    const { workspaceId: workspace_id } = attacker.target;
    const dataset = await newDataset(attacker, { input_schema: COSTLY_INPUT });
    const input = 'a'.repeat(COSTLY_CHARACTERS);
    const body = JSON.stringify({ workspace_id, items: Array.from({ length: items }, () => ({ input })) });
    const write = () => attacker.send('POST', `/eval/v1/datasets/${dataset}/records/bulk`, { body });
    await Promise.all(Array.from({ length: writers }, write));
  },
});

export const importAndWriters = attack({
  name: 'import-and-writers',
  title: 'an import, and writers to the same dataset',
  sizes: {
    test: { bytes: 2 * MIB, writers: 12 },
    bench: { bytes: 24 * MIB, writers: 12 },
  },
  async run(attacker, { bytes, writers }) {
    const { workspaceId: workspace_id } = attacker.target;
    const dataset = await newDataset(attacker);
    const path = `/eval/v1/datasets/${dataset}/records`;
    const count = Math.floor(bytes / jsonLine(10_000).length);
    const body = Array.from({ length: count }, (_, n) => jsonLine(n)).join('');
    let isImporting = true;
    const importing = attacker
      .send('POST', `${path}/import`, { body, type: 'application/jsonl' })
      .finally(() => (isImporting = false));
    const record = JSON.stringify({ workspace_id, input: 'one more' });
    const write = async (): Promise<void> => {
      while (isImporting) {
        await attacker.send('POST', path, { body: record });
        await delay(50);
      }
    };
    await Promise.all([importing, ...Array.from({ length: writers }, write)]);
  },
});

export const largeTraces = attack({
  name: 'large-traces',
  title: 'records from large traces, in many requests at once',
  sizes: {
    test: { traces: 3, requests: 14 },
    bench: { traces: 20, requests: 40 },
  },
  async run(attacker, { traces, requests }) {
    const { workspaceId: workspace_id } = attacker.target;
    const trace_ids: string[] = [];
    for (let n = 0; n < traces; n++) trace_ids.push(await newTrace(attacker, 'x'.repeat(7 * MIB)));
    const body = JSON.stringify({ workspace_id, trace_ids });
    const send = async (): Promise<void> => {
      const dataset = await newDataset(attacker);
      await attacker.send('POST', `/eval/v1/datasets/${dataset}/records/from-traces`, { body });
    };
    await Promise.all(Array.from({ length: requests }, send));
  },
  async other(other) {
    const path = `/eval/v1/datasets/${await newDataset(other)}/records/from-traces`;
    const trace_ids = [await newTrace(other)];
    const body = JSON.stringify({ workspace_id: other.target.workspaceId, trace_ids });
    return other.send('POST', path, { body });
  },
});

export const maskedTraces = attack({
  name: 'masked-traces',
  title: 'exports of nothing but addresses, in a workspace with the maximum number of masking rules',
  sizes: {
    test: { exports: 2, bytes: 15 * MIB },
    bench: { exports: 8, bytes: 15 * MIB },
  },
  async run(attacker, { exports, bytes }) {
    const masking = Array.from({ length: 20 }, (_, n) =>
      n % 2 === 0 ? { builtin: 'email' } : { pattern: `b[.]co{1,${n}}` },
    );
    const body = { name: `masked ${process.hrtime.bigint()}`, masking };
    const { workspace_id } = await attacker.prepare('POST', '/registry/v1/workspaces', body);
    const caller = new Attacker({ ...attacker.target, workspaceId: workspace_id });
    const addresses = 'a@b.co '.repeat(Math.floor(bytes / 7));
    for (let sent = 0; sent < exports; sent++) {
      const { body } = traceExport(addresses);
      await caller.send('POST', '/telemetry/v1/traces', { body: JSON.stringify(body) });
    }
    for (const [label, times] of Object.entries(caller.responses)) attacker.count(label, times);
  },
});

export const manyErasures = attack({
  name: 'many-erasures',
  title: 'erasures that search many large kept responses',
  sizes: {
    test: { responses: 10, erasures: 20 },
    bench: { responses: 60, erasures: 200 },
  },
  async run(attacker, { responses, erasures }) {
    const { workspaceId: workspace_id } = attacker.target;
    const path = `/eval/v1/datasets/${await newDataset(attacker)}/records`;
    const input = Array.from({ length: 130_000 }, (_, n) => `w${n}`);
    const body = JSON.stringify({ workspace_id, input });
    const key = (n: number) => ({ 'idempotency-key': `${n} ${process.hrtime.bigint()}`.replace(' ', '-') });
    for (let n = 0; n < responses; n++) await attacker.send('POST', path, { body, headers: key(n) });
    const request = async (_: unknown, n: number): Promise<void> => {
      const subject = { kind: 'end_user', id: `${n} ${process.hrtime.bigint()}` };
      await attacker.send('POST', '/registry/v1/erasures', { body: JSON.stringify({ subject }) });
    };
    await Promise.all(Array.from({ length: erasures }, request));
    await delay(5_000); // while they run
  },
  async other(other) {
    const subject = { kind: 'end_user', id: `${process.hrtime.bigint()}` };
    const { erasure_id } = await other.prepare('POST', '/registry/v1/erasures', { subject });
    for (let status = '', tries = 0; status !== 'succeeded'; tries++) {
      if (tries > 100) throw new Error('the erasure waits');
      await delay(100);
      status = (await other.prepare('GET', `/registry/v1/erasures/${erasure_id}`)).erasure_status;
    }
  },
});

export const lineFeeds = attack({
  name: 'line-feeds',
  title: 'imports of nothing but line feeds',
  sizes: {
    test: { imports: 1, bytes: 16 * MIB },
    bench: { imports: 1, bytes: 32 * MIB },
  },
  async run(attacker, { imports, bytes }) {
    const path = `/eval/v1/datasets/${await newDataset(attacker)}/records/import`;
    const body = Buffer.alloc(bytes, '\n');
    const send = () => attacker.send('POST', path, { body, type: 'application/jsonl' });
    await Promise.all(Array.from({ length: imports }, send));
  },
  async other(other) {
    const path = `/eval/v1/datasets/${await newDataset(other)}/records/import`;
    return other.send('POST', path, { body: jsonLine(1), type: 'application/jsonl' });
  },
});

export const endlessScorers = attack({
  name: 'endless-scorers',
  title: 'test runs of endless scorers in many workspaces of one organization',
  sizes: {
    test: { workspaces: 5, runs: 10, ms: 500 },
    bench: { workspaces: 10, runs: 30, ms: 10_000 },
  },
  async run(attacker, { workspaces, runs, ms }) {
    const prepare = async (_: unknown, n: number) => {
      const name = `w${n} ${process.hrtime.bigint()}`;
      const { workspace_id } = await attacker.prepare('POST', '/registry/v1/workspaces', { name });
      const caller = new Attacker({ ...attacker.target, workspaceId: workspace_id });
      const scorer = await newScorer(caller, 'function score() { for (;;); }', ms);
      return { caller, scorer, trace: await newTrace(caller) };
    };
    const prepared = await Promise.all(Array.from({ length: workspaces }, prepare));
    const send = async (_: unknown, n: number): Promise<void> => {
      const { caller, scorer, trace } = prepared[n % workspaces]!;
      const body = JSON.stringify({ mode: 'test', trace_ids: [trace] });
      await caller.send('POST', `/eval/v1/scorers/${scorer}/score`, { body });
    };
    await Promise.all(Array.from({ length: runs }, send));
    for (const { caller } of prepared) {
      for (const [label, times] of Object.entries(caller.responses)) attacker.count(label, times);
    }
  },
  async other(other) {
    const scorer = await newScorer(other, 'function score() { return 1; }', 1_000);
    const body = JSON.stringify({ mode: 'test', trace_ids: [await newTrace(other)] });
    return other.send('POST', `/eval/v1/scorers/${scorer}/score`, { body });
  },
});
