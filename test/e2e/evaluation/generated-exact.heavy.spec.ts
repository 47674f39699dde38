import fc from 'fast-check';
import { sharedApp } from '#testing';
import { ExactJson } from '../platform/exact-values.harness';

const RUNS = 30;
/** Numbers that are finite as doubles, in any spelling. */
const number = fc
  .stringMatching(/^-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})?$/)
  .filter((literal) => Number.isFinite(Number(literal)));
const text = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 10 }),
    fc.constantFrom('\0', 'a\0b', '\\u0000', '\\\0', '\ufdd0'),
  )
  .map((value) => JSON.stringify(value));
const name = fc.oneof(
  text,
  fc.nat(12).map((index) => `"${index}"`),
  fc.constant('"__proto__"'),
);

/** JSON text as the service returns it: compact, without needless escapes. */
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(number, text, fc.constantFrom('true', 'false', 'null')),
    fc.array(tie('json'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    objectOf(tie('json')),
  ),
}));

function objectOf(value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .uniqueArray(fc.tuple(name, value), { maxLength: 4, selector: ([one]) => one })
    .map((members) => `{${members.map((member) => member.join(':')).join(',')}}`);
}

/** Null is stored like an absent value, and must not be the input of a record. */
const record = fc.record({
  input: json.filter((value) => value !== 'null'),
  expected: json,
  metadata: objectOf(json),
});

describe('generated free-form values', () => {
  const app = sharedApp();
  let space: ExactJson;

  beforeAll(async () => {
    space = await ExactJson.open(app);
  });

  it('come back digit for digit, whatever happens to the record', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 20 }), async (records) => {
        const dataset = await space.dataset();
        const items = records.map(
          ({ input, expected, metadata }) =>
            `{"input":${input},"expected":${expected},"metadata":${metadata}}`,
        );
        const { status, body } = await space.send('POST', `${dataset}/records/bulk`, {
          items: `[${items.join(',')}]`,
        });
        expect([status, body.items.map((item: { status_code: number }) => item.status_code)]).toEqual([
          207,
          records.map(() => 201),
        ]);
        const stored = items.map((item) => item.slice(1, -1));
        const expectStored = (actual: string): void => {
          for (const content of stored) expect(actual).toContain(content);
        };
        expectStored(await space.text(`${dataset}/records?limit=500`));
        const exported = await space.text(`${dataset}/records/export?format=jsonl`);
        expectStored(exported);
        const copy = await space.dataset();
        await space.upload(`${copy}/records/import`, 'application/x-ndjson', exported);
        expectStored(await space.text(`${copy}/records?limit=500`));

        const first = `${dataset}/records/${body.items[0].record.dataset_record_id}`;
        const patched = await space.send('PATCH', first, { label: '"x"', metadata: '{"added":1}' });
        expect(patched.status).toBe(200);
        const { input, expected, metadata } = records[0]!;
        const actual = await space.text(first);
        expect(actual).toContain(`"input":${input},"expected":${expected}`);
        // a member that the value has itself keeps its place
        if (!metadata.includes('"added":')) expect(actual).toContain(`"metadata":${metadata.slice(0, -1)}`);
      }),
      { numRuns: RUNS },
    );
  }, 120_000);

  it('come back digit for digit from results', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 20 }), async (records) => {
        const experiment = await space.send('POST', '/eval/v1/experiments', { name: '"exact"' });
        const results = `/eval/v1/experiments/${experiment.body.experiment_id}/results`;
        const members = records.map(({ input, expected }) => `"input":${input},"expected":${expected}`);
        const items = members.map((item, index) => `{"case_id":"${index}",${item}}`);
        const { status } = await space.send('POST', `${results}/bulk`, { items: `[${items.join(',')}]` });
        expect(status).toBe(207);
        const stored = await space.text(`${results}?limit=500`);
        for (const item of members) expect(stored).toContain(item);
      }),
      { numRuns: RUNS },
    );
  }, 120_000);
});
