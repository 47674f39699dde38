import fc from 'fast-check';
import { sharedApp } from '#testing';
import { type BulkResponse, EvaluationWorkspace } from './evaluation.harness';

const RUNS = 400;

const CSV = [
  ...[
    'a,b\n1,2\n',
    'id,a\nx,1\ny,2\n',
    '\ufeffid\r\n1\r\n',
    'a',
    '',
    'a\n"',
    'a,a\n',
    'id\n1\n1\n',
    'a\n\ufffd',
    'Input,expected,tags,metadata,,id\nx,y,"a,b","{""m"":1}",z,1\n',
    'metadata,a\n"{""a"":1}",x\n',
    'metadata\n[\n',
  ],
  '1'.repeat(70_000),
];
const MAPPINGS = [{}, { input: ['a'] }, { input: ['id'] }, { tags: ['a'], expected: ['b'] }, { input: ['a', 'a'] }, { inputs: ['a'] }, { input: 'a' }]; // oxfmt-ignore

/** One upload of each documented answer: created, unchanged, refused, and of an unknown media type. */
const ANSWERED: [Buffer, Record<string, string>, string][] = [
  [Buffer.from('q\n1\n'), {}, 'text/csv'],
  [Buffer.from('q\n1\n'), {}, 'text/csv'],
  [Buffer.from('q,q\n'), {}, 'text/csv'],
  [Buffer.from('q\n1\n'), {}, 'a/b'],
];

/** Covers what generated JSON does not: bytes of any media type with options in the query, and pinned experiments. */
describe('CSV uploads', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;
  let versions: string;
  let datasetId: string;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
    datasetId = (await space.dataset()).dataset_id;
    versions = `/eval/v1/datasets/${datasetId}/versions`;
  });

  it('are answered as documented, and never with a 500, whatever bytes and options they have', async () => {
    const option = (values: readonly string[]) =>
      fc.oneof(fc.constantFrom(...values), fc.string({ unit: 'binary', maxLength: 30 }));
    const query = fc.record(
      {
        case_id_column: option(['id', 'a']),
        mapping: option(MAPPINGS.map((one) => JSON.stringify(one))),
      },
      { requiredKeys: [] },
    );
    const parts = fc.constantFrom('"', ',', '\n', '\r\n', 'id', 'input', 'metadata', '{}', 'é', '\0', '');
    const content = fc.oneof(
      fc.constantFrom(...CSV).map((text) => Buffer.from(text)),
      fc.array(parts, { maxLength: 20 }).map((all) => Buffer.from(all.join(''))),
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    );
    const csv = fc.constant('text/csv');
    const media = fc.oneof(csv, csv, csv, fc.constantFrom('multipart/form-data; boundary=a', 'a/b'));
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(content, query, media, async (bytes, options, type) => {
        const path = `${versions}?${new URLSearchParams({ workspace_id: space.id, ...options }).toString()}`;
        const { status } = await space.editor.post(path, bytes, { 'content-type': type });
        seen.add(status);
        expect([status, status < 500]).toEqual([status, true]);
      }),
      { numRuns: RUNS, examples: ANSWERED },
    );
    expect([...seen].sort()).toEqual(expect.arrayContaining([200, 201, 400, 415]));
  }, 300_000);

  it('determine, for each result of an experiment that pins a CSV version, whether its case exists', async () => {
    const { dataset_id } = await space.dataset();
    await space.post(`/eval/v1/datasets/${dataset_id}/versions`, { content: 'id\na\nb\nc\n' });
    const { experiment_id } = await space.experiment({ dataset_id, dataset_version: 1 });
    const caseIds = new Set(['a', 'b', 'c']);
    const caseId = fc.oneof(
      fc.constantFrom('a', 'b', 'c', 'd', 'A', ''),
      fc.string({ unit: 'binary', maxLength: 8 }),
    );
    const item = fc.record({ case_id: caseId, output: fc.jsonValue({ maxDepth: 1 }) }, { requiredKeys: [] });
    await fc.assert(
      fc.asyncProperty(fc.array(item, { minLength: 1, maxLength: 6 }), async (items) => {
        const path = `/eval/v1/experiments/${experiment_id}/results/bulk`;
        const { status, body } = await space.post<BulkResponse>(path, { items });
        expect([207, 400]).toContain(status); // 400 for a body that is not valid JSON
        for (const { index, status_code } of status === 207 ? body.items : []) {
          const isKnown = caseIds.has(items[index]!.case_id ?? '');
          expect(isKnown ? [201, 409] : [400]).toContain(status_code);
        }
      }),
      { numRuns: 200 },
    );
  }, 120_000);
});
