import fc from 'fast-check';
import { type Answer, createTestApp, type TestApp } from '#testing';
import { uploaded } from './dataset-versions.fixture';
import {
  type BulkAnswer,
  type Dataset,
  type DatasetRecord,
  EvaluationWorkspace,
  FREE_FORM_VALUES,
  outcome,
  places,
  type ProblemBody,
  type RecordVersion,
  statuses,
  statusesOf,
  UNKNOWN_IDS,
} from './evaluation.harness';
import {
  contentsOf,
  exported,
  type ImportFormat,
  importing,
  jsonLines,
  MEDIA,
  recordsOf,
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

/** Integers that a double does not hold as they are written are refused wherever they are sent. */
const withoutLost = (_: string, value: unknown): unknown =>
  Number.isInteger(value) && !Number.isSafeInteger(value) ? String(value) : value;

describe('records', () => {
  let app: TestApp;
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    app = await createTestApp();
    space = await EvaluationWorkspace.open(app);
  });
  afterAll(() => app.close());

  const made = async (items: Fields[]): Promise<string> => {
    const { dataset_id } = await space.dataset();
    for (let at = 0; at < items.length; at += 100) {
      const path = `${recordsOf(dataset_id)}/bulk`;
      const answer = await space.post<BulkAnswer>(path, { items: items.slice(at, at + 100) });
      expect(new Set(statuses(answer))).toEqual(new Set([201]));
    }
    return dataset_id;
  };
  const datasetOf = async (id: string) => (await space.viewer.get<Dataset>(`/eval/v1/datasets/${id}`)).body;
  const revisionOf = async (id: string) =>
    (await space.viewer.get<Dataset>(`/eval/v1/datasets/${id}`)).headers.get('etag');
  const detailOf = (answer: Answer<unknown>) => (answer.body as ProblemBody).detail;
  const ids = (datasetId: string) =>
    space
      .list<DatasetRecord>(`${recordsOf(datasetId)}?sort=created_at&limit=500`)
      .then((records) => records.map((one) => one.external_id));

  /** Everything that a record can hold, and what is hard about it. */
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

  describe('that are exported', () => {
    it.each(FORMATS)(
      'as %s and imported into another dataset are the same, to the character',
      async (format) => {
        const from = await made(awkward);
        const text = await exported(space.viewer, from, `format=${format}`);
        const { dataset_id: into } = await space.dataset();
        const answer = await importing(space.editor, into, text, '', MEDIA[format]);
        expect([answer.status, answer.body]).toEqual([
          200,
          { created_count: awkward.length, updated_count: 0, unchanged_count: 0, skipped_count: 0 },
        ]);
        expect(await contentsOf(space, into)).toEqual(await contentsOf(space, from));
        expect(await exported(space.viewer, into, 'format=csv')).toBe(
          await exported(space.viewer, from, 'format=csv'),
        );
        expect((await datasetOf(into)).record_count).toBe(awkward.length);
      },
    );

    it('as CSV, uploaded as a version and imported from there, are the same', async () => {
      const from = await made(awkward);
      const { dataset_id: into } = await space.dataset();
      const { version } = await uploaded(space, into, await exported(space.viewer, from, 'format=csv'));
      const path = `${recordsOf(into)}/import`;
      expect((await space.post(path, { dataset_version: version })).status).toBe(200);
      expect(await contentsOf(space, into)).toEqual(await contentsOf(space, from));
    });

    it('come back unchanged, whatever they hold', async () => {
      const text = fc.oneof(
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
        fc.constantFrom(...FORMULAS),
        fc.tuple(fc.constantFrom(...FORMULAS), fc.string({ maxLength: 5 })).map((parts) => parts.join('')),
      );
      const storable = text.map((one) => one.replaceAll('\0', '0'));
      const json = fc
        .jsonValue({ maxDepth: 4, stringUnit: 'grapheme' })
        .map((value) => JSON.parse(JSON.stringify(value).replaceAll('\\u0000', '0'), withoutLost) as unknown);
      const optional = fc.option(storable, { nil: null });
      const record = fc.record({
        input: json,
        expected: json,
        metadata: fc.dictionary(storable, json, { maxKeys: 3 }),
        tags: fc.uniqueArray(storable, { maxLength: 3 }),
        label: optional,
        category: optional,
        source_ref: optional,
        source_kind: fc.constantFrom('manual', 'session', 'trace', 'external'),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 20 }), async (records) => {
          const from = await made(records.map((one, n) => ({ ...one, external_id: `=${n}` })));
          const before = await contentsOf(space, from);
          for (const format of FORMATS) {
            const { dataset_id: into } = await space.dataset();
            const file = await exported(space.viewer, from, `format=${format}`);
            expect((await importing(space.editor, into, file, '', MEDIA[format])).status).toBe(200);
            expect(await contentsOf(space, into)).toEqual(before);
            const again = await importing(space.editor, into, file, 'on_conflict=update', MEDIA[format]);
            expect(again.body.unchanged_count).toBe(records.length);
          }
        }),
        { numRuns: 15 },
      );
    }, 240_000);

    it('as CSV hold no cell that a spreadsheet would run as a formula', async () => {
      const from = await made(FORMULAS.map((label) => ({ input: label, label, source_ref: label })));
      const [header, ...rows] = (await exported(space.viewer, from, 'format=csv')).split(/\r\n(?=")/);
      expect(header).toBe('input,expected,metadata,tags,label,category,source_kind,source_ref,external_id');
      expect(rows).toHaveLength(FORMULAS.length);
      const cells = rows.join('\r\n').match(/"(?:[^"]|"")*"|[^,\r\n]+/g)!;
      const run = cells
        .map((cell) => cell.replace(/^"|"$/g, ''))
        .filter((cell) => /^[=+\-@\t\r\n]/.test(cell));
      expect(run).toEqual([]);
    });

    it('are lines of JSON with the id and the version of each, under the name of their dataset', async () => {
      const { dataset_id } = await space.dataset({ name: 'Fälle "1"/2' });
      const record = await space.record(dataset_id, { input: { a: 1.5 }, tags: ['t'], label: 'l' });
      const answer = await space.viewer.get(`${recordsOf(dataset_id)}/export`);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': 'application/jsonl; charset=utf-8',
        'content-disposition': `attachment; filename="F_lle _1__2.jsonl"; filename*=UTF-8''F%C3%A4lle%20%221%22%2F2.jsonl`,
        etag: await revisionOf(dataset_id),
      });
      expect(answer.body).toBe(
        `{"dataset_record_id":"${record.dataset_record_id}","version":1,"input":{"a":1.5},"expected":null,"metadata":{},"tags":["t"],"label":"l","category":null,"source_kind":"manual","source_ref":null,"external_id":null}\n`,
      );
      const held = { 'if-none-match': answer.headers.get('etag')! };
      expect((await space.viewer.get(`${recordsOf(dataset_id)}/export`, held)).status).toBe(304);
      await space.record(dataset_id);
      expect((await space.viewer.get(`${recordsOf(dataset_id)}/export`, held)).status).toBe(200);
    });

    it('of an empty dataset are no lines, or a header alone', async () => {
      const { dataset_id } = await space.dataset();
      expect(await exported(space.viewer, dataset_id)).toBe('');
      const csv = await exported(space.viewer, dataset_id, 'format=csv');
      expect(csv).toBe('input,expected,metadata,tags,label,category,source_kind,source_ref,external_id\r\n');
      expect((await importing(space.editor, dataset_id, csv, '', 'text/csv')).body.created_count).toBe(0);
      expect((await importing(space.editor, dataset_id, '\n \n')).body.created_count).toBe(0);
      expect(await revisionOf(dataset_id)).toBe('"1"');
    });

    it('are narrowed as the list is, and leave archived ones out unless asked', async () => {
      const id = await made([
        { input: 0, label: 'a', category: 'x', source_kind: 'trace', source_ref: 'r' },
        { input: 1, label: 'a', external_id: 'e' },
        { input: 2, label: 'b' },
      ]);
      const inputs = async (query: string) =>
        (await exported(space.viewer, id, query))
          .split('\n')
          .slice(0, -1)
          .map((line) => (JSON.parse(line) as Fields).input);
      expect(await inputs('label=a')).toEqual([0, 1]);
      expect(await inputs('category=x&label=a')).toEqual([0]);
      expect(await inputs('source_kind=trace')).toEqual([0]);
      expect(await inputs('source_ref=r')).toEqual([0]);
      expect(await inputs('external_id=e')).toEqual([1]);
      expect(await inputs('label=z')).toEqual([]);
      const [record] = await space.list<DatasetRecord>(`${recordsOf(id)}?external_id=e`);
      await space.archive(`${recordsOf(id)}/${record!.dataset_record_id}`);
      expect(await inputs('')).toEqual([0, 2]);
      expect(await inputs('include_archived=true')).toEqual([0, 1, 2]);
    });

    it.each([
      ['format=xml', 422, 'validation_failed'],
      ['source_kind=x', 422, 'validation_failed'],
      ['format=csv&format=csv', 400, 'invalid_query'],
      ['q=x', 400, 'invalid_query'],
      ['limit=1', 400, 'invalid_query'],
    ])('by ?%s are refused: %i', async (query, status, code) => {
      const { dataset_id } = await space.dataset();
      expect(outcome(await space.viewer.get(`${recordsOf(dataset_id)}/export?${query}`))).toEqual([
        status,
        code,
      ]);
    });
  });

  describe('that are imported', () => {
    it('are those of a CSV version as its mapping says, under the ids of the cases', async () => {
      const { dataset_id } = await space.dataset();
      const file = 'id,question,answer,team,labels\r\nc1,"1, or 2?",=1,x,"a;b"\r\nc2,3?,3,,\r\n';
      const mapping = { expected: ['answer'], metadata: ['team'], tags: ['labels'] };
      const { version } = await uploaded(space, dataset_id, file, { mapping });
      const path = `${recordsOf(dataset_id)}/import`;
      const first = await space.post(path, { dataset_version: version });
      expect(first.body).toEqual({
        created_count: 2,
        updated_count: 0,
        unchanged_count: 0,
        skipped_count: 0,
      });
      const rest = { label: null, category: null, source_kind: 'external', source_ref: null };
      expect((await contentsOf(space, dataset_id)).map((text) => JSON.parse(text) as unknown)).toEqual([
        {
          input: { question: '1, or 2?' },
          expected: { answer: '=1' },
          metadata: { team: 'x' },
          tags: ['a', 'b'],
          ...rest,
          external_id: 'c1',
        },
        {
          input: { question: '3?' },
          expected: { answer: '3' },
          metadata: { team: '' },
          tags: [],
          ...rest,
          external_id: 'c2',
        },
      ]);
      const again = await space.post(path, { dataset_version: version });
      expect([...outcome(again), ...places(again)]).toEqual([
        409,
        'conflict',
        '/lines/2/external_id',
        '/lines/3/external_id',
      ]);
      const update = await space.post(path, { dataset_version: version, on_conflict: 'update' });
      expect(update.body).toMatchObject({ created_count: 0, unchanged_count: 2 });
      const byRow = await uploaded(space, (await space.dataset()).dataset_id, 'question\nx\ny\n');
      const { dataset_id: other } = byRow;
      await space.post(`${recordsOf(other)}/import`, { dataset_version: 1 });
      expect(await ids(other)).toEqual(['1', '2']);
    });

    it('take part in conflicts as asked: none, skipped, or a new version each that differs', async () => {
      const id = await made([
        { input: 'old', label: 'l', external_id: 'a' },
        { input: 'same', external_id: 'b' },
        { input: 'gone', external_id: 'c' },
      ]);
      const [gone] = await space.list<DatasetRecord>(`${recordsOf(id)}?external_id=c`);
      await space.archive(`${recordsOf(id)}/${gone!.dataset_record_id}`);
      const before = await contentsOf(space, id);
      const revision = await revisionOf(id);
      const file = jsonLines([
        { input: 'new', external_id: 'a' },
        { input: 'same', external_id: 'b' },
        { input: 'again', external_id: 'c' },
        { input: 'no id' },
      ]);
      const refused = await importing(space.editor, id, file);
      expect([...outcome(refused), ...places(refused)]).toEqual([
        409,
        'conflict',
        '/lines/1/external_id',
        '/lines/2/external_id',
      ]);
      expect([await contentsOf(space, id), await revisionOf(id)]).toEqual([before, revision]);

      const skipped = await importing(space.editor, id, file, 'on_conflict=skip');
      expect(skipped.body).toEqual({
        created_count: 2,
        updated_count: 0,
        unchanged_count: 0,
        skipped_count: 2,
      });
      expect((await contentsOf(space, id)).slice(0, 2)).toEqual(before);
      expect((await datasetOf(id)).record_count).toBe(4);

      const updated = await importing(space.editor, id, file, 'on_conflict=update');
      expect(updated.body).toEqual({
        created_count: 1,
        updated_count: 1,
        unchanged_count: 2,
        skipped_count: 0,
      });
      const [record] = await space.list<DatasetRecord>(`${recordsOf(id)}?external_id=a`);
      expect(record).toMatchObject({ input: 'new', label: null, version: 2 });
      const versions = await space.list<RecordVersion>(
        `${recordsOf(id)}/${record!.dataset_record_id}/versions`,
      );
      expect(versions.map((one) => [one.version, one.input])).toEqual([
        [2, 'new'],
        [1, 'old'],
      ]);
      expect((await datasetOf(id)).record_count).toBe(5);
      const last = await revisionOf(id);
      await importing(
        space.editor,
        id,
        jsonLines([{ input: 'new', external_id: 'a' }]),
        'on_conflict=update',
      );
      expect(await revisionOf(id)).toBe(last);
    });

    it('are found by words, counted, versioned and in the snapshots of experiments begun later alone', async () => {
      const id = await made([{ input: 'first' }]);
      const { experiment_id: early } = await space.experiment({ dataset_id: id });
      const file = jsonLines(
        Array.from({ length: 1200 }, (_, n) => ({ input: `word${n} imported`, external_id: `${n}` })),
      );
      expect((await importing(space.editor, id, file)).body.created_count).toBe(1200);
      expect(
        (await space.list<DatasetRecord>(`${recordsOf(id)}?q=word777`)).map((one) => one.external_id),
      ).toEqual(['777']);
      const newest = await space.list<DatasetRecord>(`${recordsOf(id)}?limit=2`);
      expect(newest.map((one) => [one.external_id, one.version, one.created_by])).toEqual([
        ['1199', 1, space.editorId],
        ['1198', 1, space.editorId],
      ]);
      const { experiment_id: late } = await space.experiment({ dataset_id: id });
      const counts = [];
      for (const experiment of [early, late])
        counts.push((await space.finalize(experiment)).dataset_snapshot!.record_count);
      expect(counts).toEqual([1, 1201]);
    });

    it('may end without a line break, begin with a byte order mark, and stand between blank lines and CRLF', async () => {
      const id = (await space.dataset()).dataset_id;
      expect(
        (await importing(space.editor, id, '\ufeff{"input":1}\r\n\r\n \t\n{"input":2}')).body.created_count,
      ).toBe(2);
      const media = 'application/x-ndjson; charset=UTF-8';
      expect((await importing(space.editor, id, '{"input":3}', '', media)).body.created_count).toBe(1);
      const csv = '\ufefflabel,input\nl,"{""a"":[1]}"\n,4\n';
      expect((await importing(space.editor, id, csv, '', 'text/csv')).body.created_count).toBe(2);
      expect((await contentsOf(space, id)).map((text) => (JSON.parse(text) as Fields).input)).toEqual([
        1,
        2,
        3,
        { a: [1] },
        4,
      ]);
    });

    it('with an Idempotency-Key are imported once', async () => {
      const id = (await space.dataset()).dataset_id;
      const key = { 'idempotency-key': 'import-1' };
      const once = () => importing(space.editor, id, '{"input":1}\n', '', MEDIA.jsonl, key);
      const [first, second] = [await once(), await once()];
      expect([second.status, second.headers.get('idempotency-replayed'), second.body]).toEqual([
        200,
        'true',
        first.body,
      ]);
      expect((await datasetOf(id)).record_count).toBe(1);
      const other = await importing(space.editor, id, '{"input":1}\n', 'on_conflict=skip', MEDIA.jsonl, key);
      expect(outcome(other)).toEqual([422, 'validation_failed']);
    });

    it('by two clients at once under the same ids come from one of them', async () => {
      const id = (await space.dataset()).dataset_id;
      const file = jsonLines(Array.from({ length: 600 }, (_, n) => ({ input: n, external_id: `${n}` })));
      const answers = await Promise.all([
        importing(space.editor, id, file),
        importing(space.editor, id, file),
      ]);
      expect(statusesOf(answers)).toEqual([200, 409]);
      expect((await datasetOf(id)).record_count).toBe(600);
    });

    const faults: [string, string, string, string, RegExp][] = [
      [
        'no JSON',
        'jsonl',
        '{"input":1}\n{"input":',
        '/lines/2',
        /^\/lines\/2: The line is not JSON: it ends at column 10/,
      ],
      ['no object', 'jsonl', '{"input":1}\n\n[1]\n', '/lines/3', /must be a JSON object/],
      ['no input', 'jsonl', '{"expected":1}\n', '/lines/1/input', /must be present|is required/],
      ['a NUL', 'jsonl', '{"input":1,"metadata":{"a":"\\u0000"}}\n', '/lines/1/metadata/a', /NUL/],
      ['an empty label', 'jsonl', '{"input":1,"label":""}', '/lines/1/label', /./],
      [
        'bytes that are not UTF-8',
        'jsonl',
        Buffer.from('{"input":"\xff"}', 'latin1').toString('latin1'),
        '/lines/1',
        /UTF-8/,
      ],
      [
        'a cell that is no JSON',
        'csv',
        'input\n1\n"{""a"":"\n',
        '/lines/3/input',
        /must be JSON text: the field is not JSON/,
      ],
      ['a row of another width', 'csv', 'input,label\n1\n', '/lines/2', /has 1 fields/],
      [
        'an unknown column',
        'csv',
        'input,color\n1,red\n',
        '/lines/1',
        /"color"; there may be input, expected/,
      ],
      ['no column input', 'csv', 'label\nx\n', '/lines/1', /does not name the column input/],
      ['an empty input', 'csv', 'input,label\n1,a\n,b\n', '/lines/3/input', /./],
      ['a quote left open', 'csv', 'input\n1\n"2\n', '/lines/3', /never closed/],
      ['no header', 'csv', '', '/lines/1', /header row/],
    ];
    it.each(faults)(
      'with %s in a %s are refused whole, and the line told',
      async (what, format, text, pointer, detail) => {
        const id = (await space.dataset()).dataset_id;
        const bytes = what.includes('UTF-8') ? Buffer.from(text, 'latin1') : text;
        const answer = await importing(space.editor, id, bytes, '', MEDIA[format as ImportFormat]);
        expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_request', pointer]);
        expect(detailOf(answer)).toMatch(detail);
        expect((await datasetOf(id)).record_count).toBe(0);
      },
    );

    it('tell of a hundred faults at most, and of the others how many lines they are in', async () => {
      const id = (await space.dataset()).dataset_id;
      const file = jsonLines(
        Array.from({ length: 300 }, (_, n) => (n % 2 === 0 ? { input: n } : { label: n })),
      );
      const answer = await importing(space.editor, id, file);
      expect(places(answer)).toHaveLength(100);
      expect(places(answer).slice(0, 3)).toEqual(['/lines/2/input', '/lines/2/label', '/lines/4/input']);
    });

    it('are held to the schemas of the dataset, line by line', async () => {
      const schemas = {
        input_schema: { type: 'object', required: ['q'] },
        expected_schema: { type: ['string', 'null'] },
      };
      const { dataset_id: id } = await space.dataset(schemas);
      const good = { input: { q: 1 }, expected: 'x' };
      const answer = await importing(
        space.editor,
        id,
        jsonLines([good, { input: {} }, good, { input: { q: 1 }, expected: 7 }]),
      );
      expect([...outcome(answer), ...places(answer)]).toEqual([
        400,
        'invalid_request',
        '/lines/2/input/q',
        '/lines/4/expected',
      ]);
      expect((await importing(space.editor, id, jsonLines([good, good]))).body.created_count).toBe(2);
      const { version } = await uploaded(space, id, 'q\nx\n');
      expect((await space.post(`${recordsOf(id)}/import`, { dataset_version: version })).status).toBe(200);
      const other = await uploaded(space, id, 'r\nx\n');
      const refused = await space.post(`${recordsOf(id)}/import`, { dataset_version: other.version });
      expect([...outcome(refused), ...places(refused)]).toEqual([400, 'invalid_request', '/lines/2/input/q']);
    });

    it('with one external_id twice are 409 naming both lines, whatever is asked of conflicts', async () => {
      const id = (await space.dataset()).dataset_id;
      const file = jsonLines([{ input: 1, external_id: 'a' }, { input: 2 }, { input: 3, external_id: 'a' }]);
      for (const query of ['', 'on_conflict=skip', 'on_conflict=update']) {
        const answer = await importing(space.editor, id, file, query);
        expect([...outcome(answer), ...places(answer)]).toEqual([409, 'conflict', '/lines/3/external_id']);
        expect(detailOf(answer)).toMatch(/line 1/);
      }
    });

    it('are refused in order: form, dataset, state, values', async () => {
      const id = (await space.dataset()).dataset_id;
      const badForm = '{"input":1,"source_kind":"x"}\n{}\n';
      const badValue = '{"input":1}\n{"input":1,"source_kind":"x"}\n';
      expect(outcome(await importing(space.editor, 'ds_x', badForm))).toEqual([400, 'invalid_request']);
      expect(outcome(await importing(space.editor, 'ds_x', badValue))).toEqual([404, 'not_found']);
      const values = await importing(space.editor, id, badValue);
      expect([...outcome(values), ...places(values)]).toEqual([
        422,
        'validation_failed',
        '/lines/2/source_kind',
      ]);
      await space.archive(`/eval/v1/datasets/${id}`);
      expect(outcome(await importing(space.editor, id, badValue))).toEqual([409, 'conflict']);
      expect(outcome(await importing(space.editor, id, badForm))).toEqual([400, 'invalid_request']);
      expect((await space.viewer.get(`${recordsOf(id)}/export`)).status).toBe(200);
    });

    it('may be 100,000, and not one more', async () => {
      const id = (await space.dataset()).dataset_id;
      const answer = await importing(space.editor, id, '{"input":1}\n'.repeat(100_001));
      expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_request', '/lines/100001']);
    });

    it.each<[string, string | Buffer, string, string, number, string]>([
      ['of an unknown media type', 'x', 'text/plain', '', 415, 'unsupported_media_type'],
      [
        'in another charset',
        '{"input":1}',
        'application/jsonl; charset=latin1',
        '',
        415,
        'unsupported_media_type',
      ],
      [
        'with an unknown on_conflict',
        '{"input":1}',
        'application/jsonl',
        'on_conflict=merge',
        422,
        'validation_failed',
      ],
      [
        'with an unknown parameter',
        '{"input":1}',
        'application/jsonl',
        'on_conflct=skip',
        400,
        'invalid_query',
      ],
      [
        'for another workspace',
        '{"input":1}',
        'application/jsonl',
        'workspace_id=wsp_x',
        400,
        'invalid_query',
      ],
      ['with a query beside JSON', '{}', 'application/json', 'on_conflict=skip', 400, 'invalid_query'],
      ['of no version', '{"workspace_id":"x"}', 'application/json', '', 400, 'invalid_request'],
      [
        'that are too large',
        Buffer.alloc(32 * 1024 * 1024 + 1, 'x'),
        'application/jsonl',
        '',
        413,
        'payload_too_large',
      ],
    ])('%s are refused', async (_, body, media, query, status, code) => {
      const id = (await space.dataset()).dataset_id;
      expect(outcome(await importing(space.editor, id, body, query, media))).toEqual([status, code]);
    });

    it('in one line of more than a record may have are refused with the line', async () => {
      const id = (await space.dataset()).dataset_id;
      const long = `{"input":1}\n{"input":"${'x'.repeat(10 * 1024 * 1024)}"}\n{"input":2}\n`;
      const answer = await importing(space.editor, id, long);
      expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_request', '/lines/2']);
      const cell = await importing(
        space.editor,
        id,
        `input\n1\n"""${'x'.repeat(10 * 1024 * 1024)}"""\n`,
        '',
        'text/csv',
      );
      expect([...outcome(cell), ...places(cell)]).toEqual([400, 'invalid_request', '/lines/3']);
    });

    it('from a version that is not there are 404 that names it, and with an unknown on_conflict 422', async () => {
      const id = (await space.dataset()).dataset_id;
      const path = `${recordsOf(id)}/import`;
      const unknown = await space.post(path, { dataset_version: 1, on_conflict: 'merge' });
      expect([...outcome(unknown), ...places(unknown)]).toEqual([404, 'not_found', '/dataset_version']);
      await uploaded(space, id, 'q\nx\n');
      const value = await space.post(path, { dataset_version: 1, on_conflict: 'merge' });
      expect([...outcome(value), ...places(value)]).toEqual([422, 'validation_failed', '/on_conflict']);
      const elsewhere = await space.post(`${recordsOf((await space.dataset()).dataset_id)}/import`, {
        dataset_version: 1,
      });
      expect(outcome(elsewhere)).toEqual([404, 'not_found']);
    });
  });

  it('are exported by viewers and imported by editors, of the workspace alone', async () => {
    const id = await made([{ input: 'secret', external_id: 'a' }]);
    const strangers = [(await EvaluationWorkspace.open(app)).editor, await space.sibling()];
    for (const stranger of strangers) {
      expect(outcome(await stranger.get(`${recordsOf(id)}/export`))).toEqual([404, 'not_found']);
      expect(outcome(await importing(stranger, id, '{"input":1}'))).toEqual([404, 'not_found']);
    }
    for (const unknown of UNKNOWN_IDS) {
      const path = recordsOf(encodeURIComponent(decodeURIComponent(unknown)));
      expect(outcome(await space.viewer.get(`${path}/export`))).toEqual([404, 'not_found']);
    }
    expect(outcome(await importing(space.viewer, id, '{"input":1}'))).toEqual([403, 'access_denied']);
    const runtime = await space.organization.as('runtime');
    expect(outcome(await runtime.get(`${recordsOf(id)}/export`))).toEqual([403, 'access_denied']);
    expect((await datasetOf(id)).record_count).toBe(1);
  });
});
