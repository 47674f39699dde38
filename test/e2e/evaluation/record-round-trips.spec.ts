import fc from 'fast-check';
import { sharedApp } from '#testing';
import { uploadVersion } from './dataset-versions.fixture';
import { type DatasetRecord, EvaluationWorkspace, FREE_FORM_VALUES, outcome } from './evaluation.harness';
import {
  contentsOf,
  datasetOf,
  exportRecords,
  type ImportFormat,
  importRecords,
  createDatasetWith,
  MEDIA,
  recordsOf,
  revisionOf,
} from './record-transfer.fixture';

type Fields = Record<string, unknown>;

const FORMULAS = [
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\tx',
  '\rx',
  '\nx',
  "'=1",
  "''+",
  "'tis",
  "'",
  '"=1"',
  ' =1',
];
const FORMATS: ImportFormat[] = ['jsonl', 'csv'];
/** The options of exports and imports that lose nothing. */
const EXACT = { jsonl: '', csv: '&cells=json' } as const;

/** Records with every member, and with values that are easily damaged. */
const awkward = [
  ...FREE_FORM_VALUES,
  'commas, "quotes", \r\n breaks; ünïcödé 漢字 😀 \u2028\u2029\u0085\u007f\ufeff',
  { '2': 'b', '1': 'a', __proto__: null, constructor: { x: [1e21, 1e-7, 0.1, -0, 2 ** 53] } },
  Array.from({ length: 60 }).reduce((inner: unknown) => [inner], 'deep'),
  '',
  'null',
  '[]',
].map((value, n): Fields => ({
  input: value,
  expected: value,
  metadata: { value },
  tags: [`t,"${n}"`, FORMULAS[n % FORMULAS.length]!],
  label: FORMULAS[n % FORMULAS.length],
  category: n % 3 === 0 ? null : `c,\r\n"${n}`,
  source_kind: ['manual', 'session', 'trace', 'external'][n % 4],
  source_ref: n % 2 === 0 ? null : FORMULAS[(n + 5) % FORMULAS.length],
  external_id: n % 5 === 0 ? null : `${FORMULAS[(n + 7) % FORMULAS.length]} ${n}`,
}));

describe('exported records', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  it.each(FORMATS)('are identical after an import of %s', async (format) => {
    const from = await createDatasetWith(space, awkward);
    const text = await exportRecords(space.viewer, from, `format=${format}${EXACT[format]}`);
    const { dataset_id: into } = await space.dataset();
    const answer = await importRecords(space.editor, into, text, EXACT[format], MEDIA[format]);
    expect([answer.status, answer.body]).toEqual([
      200,
      { created_count: awkward.length, updated_count: 0, unchanged_count: 0, skipped_count: 0 },
    ]);
    expect(await contentsOf(space, into)).toEqual(await contentsOf(space, from));
    for (const cells of ['auto', 'json']) {
      expect(await exportRecords(space.viewer, into, `format=csv&cells=${cells}`)).toBe(
        await exportRecords(space.viewer, from, `format=csv&cells=${cells}`),
      );
    }
    expect((await datasetOf(space, into)).record_count).toBe(awkward.length);
  });

  it('are identical after an upload as a CSV version and its import', async () => {
    const from = await createDatasetWith(space, awkward);
    const { dataset_id: into } = await space.dataset();
    const file = await exportRecords(space.viewer, from, 'format=csv&cells=json');
    const { version } = await uploadVersion(space, into, file);
    const path = `${recordsOf(into)}/import`;
    expect((await space.post(path, { dataset_version: version, cells: 'json' })).status).toBe(200);
    expect(await contentsOf(space, into)).toEqual(await contentsOf(space, from));
  });

  it('are plain text in CSV, and texts, objects and missing answers are identical after an import', async () => {
    const from = await createDatasetWith(space, [
      { input: 'What is 6 × 7?', expected: '42', tags: ['a, b'], metadata: { n: 1 }, external_id: 'e' },
      { input: { question: 'q' }, expected: ['x', 1], label: 'l' },
      ...FORMULAS.map((text) => ({ input: text, expected: text })),
      { input: 'no answer' },
    ]);
    const text = await exportRecords(space.viewer, from, 'format=csv');
    expect(text.split('\r\n')[1]).toBe('What is 6 × 7?,42,"{""n"":1}","[""a, b""]",,,manual,,e');
    const { dataset_id: into } = await space.dataset();
    expect((await importRecords(space.editor, into, text, '', MEDIA.csv)).status).toBe(200);
    expect(await contentsOf(space, into)).toEqual(await contentsOf(space, from));
  });

  it('round-trip unchanged, regardless of their content', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
      fc.constantFrom(...FORMULAS),
      fc.tuple(fc.constantFrom(...FORMULAS), fc.string({ maxLength: 5 })).map((parts) => parts.join('')),
    );
    const storable = text.map((one) => one.replaceAll('\0', '0'));
    const json = fc
      .jsonValue({ maxDepth: 4, stringUnit: 'grapheme' })
      .map((value) => JSON.parse(JSON.stringify(value)) as unknown);
    const optional = fc.option(storable, { nil: null });
    const record = fc.record({
      input: json,
      expected: json,
      metadata: fc.dictionary(text, json, { maxKeys: 3 }),
      tags: fc.uniqueArray(storable, { maxLength: 3 }),
      label: optional,
      category: optional,
      source_ref: optional,
      source_kind: fc.constantFrom('manual', 'session', 'trace', 'external'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 20 }), async (records) => {
        const from = await createDatasetWith(
          space,
          records.map((one, n) => ({ ...one, external_id: `=${n}` })),
        );
        const before = await contentsOf(space, from);
        for (const format of FORMATS) {
          const { dataset_id: into } = await space.dataset();
          const file = await exportRecords(space.viewer, from, `format=${format}${EXACT[format]}`);
          expect((await importRecords(space.editor, into, file, EXACT[format], MEDIA[format])).status).toBe(
            200,
          );
          expect(await contentsOf(space, into)).toEqual(before);
          const update = `on_conflict=update${EXACT[format]}`;
          const again = await importRecords(space.editor, into, file, update, MEDIA[format]);
          expect(again.body.unchanged_count).toBe(records.length);
        }
      }),
      { numRuns: 8 },
    );
  }, 240_000);

  it('contain no cell that a spreadsheet would run as a formula', async () => {
    const from = await createDatasetWith(
      space,
      FORMULAS.map((label) => ({ input: label, label, source_ref: label })),
    );
    for (const cells of ['auto', 'json']) {
      const text = await exportRecords(space.viewer, from, `format=csv&cells=${cells}`);
      const header = 'input,expected,metadata,tags,label,category,source_kind,source_ref,external_id\r\n';
      expect(text.startsWith(header)).toBe(true);
      const cellTexts = text.slice(header.length).match(/"(?:[^"]|"")*"|[^,\r\n]+/g)!;
      expect(cellTexts.length).toBeGreaterThan(5 * FORMULAS.length);
      const formulas = cellTexts
        .map((cell) => cell.replace(/^"|"$/g, ''))
        .filter((cell) => /^[=+\-@\t\r\n]/.test(cell));
      expect(formulas).toEqual([]);
    }
  });

  it('are JSON Lines with ids and versions, in a file named after the dataset', async () => {
    const { dataset_id } = await space.dataset({ name: 'Fälle "1"/2' });
    const record = await space.record(dataset_id, { input: { a: 1.5 }, tags: ['t'], label: 'l' });
    const answer = await space.viewer.get(`${recordsOf(dataset_id)}/export`);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'application/jsonl; charset=utf-8',
      'content-disposition': `attachment; filename="F_lle _1__2.jsonl"; filename*=UTF-8''F%C3%A4lle%20%221%22%2F2.jsonl`,
      etag: await revisionOf(space, dataset_id),
    });
    expect(answer.body).toBe(
      `{"dataset_record_id":"${record.dataset_record_id}","version":1,"input":{"a":1.5},"expected":null,"metadata":{},"tags":["t"],"label":"l","category":null,"source_kind":"manual","source_ref":null,"external_id":null,"archived_at":null}\n`,
    );
    const ifChanged = { 'if-none-match': answer.headers.get('etag')! };
    expect((await space.viewer.get(`${recordsOf(dataset_id)}/export`, ifChanged)).status).toBe(304);
    await space.record(dataset_id);
    expect((await space.viewer.get(`${recordsOf(dataset_id)}/export`, ifChanged)).status).toBe(200);
  });

  it('give an empty file, or only a header, for an empty dataset', async () => {
    const { dataset_id } = await space.dataset();
    expect(await exportRecords(space.viewer, dataset_id)).toBe('');
    const csv = await exportRecords(space.viewer, dataset_id, 'format=csv');
    expect(csv).toBe('input,expected,metadata,tags,label,category,source_kind,source_ref,external_id\r\n');
    expect((await importRecords(space.editor, dataset_id, csv, '', 'text/csv')).body.created_count).toBe(0);
    expect((await importRecords(space.editor, dataset_id, '\n \n')).body.created_count).toBe(0);
    expect(await revisionOf(space, dataset_id)).toBe('"1"');
  });

  it('can be filtered like the list', async () => {
    const id = await createDatasetWith(space, [
      { input: 0, label: 'a', category: 'x', source_kind: 'trace', source_ref: 'r' },
      { input: 1, label: 'a', external_id: 'e', tags: ['t'] },
      { input: 2, label: 'b' },
    ]);
    const inputs = async (query: string) =>
      (await exportRecords(space.viewer, id, query))
        .split('\n')
        .slice(0, -1)
        .map((line) => (JSON.parse(line) as Fields).input);
    expect(await inputs('label=a')).toEqual([0, 1]);
    expect(await inputs('category=x&label=a')).toEqual([0]);
    expect(await inputs('source_kind=trace')).toEqual([0]);
    expect(await inputs('source_ref=r')).toEqual([0]);
    expect(await inputs('external_id=e')).toEqual([1]);
    expect(await inputs('tag=t')).toEqual([1]);
    expect(await inputs('label=z')).toEqual([]);
    const [record] = await space.list<DatasetRecord>(`${recordsOf(id)}?external_id=e`);
    await space.archive(`${recordsOf(id)}/${record!.dataset_record_id}`);
    expect(await inputs('')).toEqual([0, 2]);
    const all = (await exportRecords(space.viewer, id, 'include_archived=true')).split('\n').slice(0, -1);
    const { body: archived } = await space.viewer.get<DatasetRecord>(
      `${recordsOf(id)}/${record!.dataset_record_id}`,
    );
    expect(archived.archived_at).not.toBeNull();
    expect(all.map((line) => JSON.parse(line) as DatasetRecord)).toMatchObject([
      { input: 0, archived_at: null },
      { input: 1, archived_at: archived.archived_at },
      { input: 2, archived_at: null },
    ]);
  });

  it.each([
    ['format=xml', 422, 'validation_failed'],
    ['source_kind=x', 422, 'validation_failed'],
    ['format=csv&cells=text', 422, 'validation_failed'],
    ['cells=json', 400, 'invalid_query'],
    ['format=csv&format=csv', 400, 'invalid_query'],
    ['q=x', 400, 'invalid_query'],
    ['limit=1', 400, 'invalid_query'],
  ])('reject the query ?%s with %i', async (query, status, code) => {
    const { dataset_id } = await space.dataset();
    expect(outcome(await space.viewer.get(`${recordsOf(dataset_id)}/export?${query}`))).toEqual([
      status,
      code,
    ]);
  });
});
