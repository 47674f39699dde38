import { sharedApp } from '#testing';
import { type DatasetCase, uploadVersion } from './dataset-versions.fixture';
import {
  type DatasetRecord,
  EvaluationWorkspace,
  outcome,
  places,
  type RecordVersion,
  statusesOf,
  UNKNOWN_IDS,
} from './evaluation.harness';
import {
  contentsOf,
  datasetOf,
  externalIdsOf,
  importRecords,
  jsonLines,
  createDatasetWith,
  MEDIA,
  recordsOf,
  revisionOf,
} from './record-transfer.fixture';

type Fields = Record<string, unknown>;

describe('imported records', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  it('follow the mapping of a CSV version, with its case ids as external ids', async () => {
    const { dataset_id } = await space.dataset();
    const file = 'id,question,answer,team,labels\r\nc1,"1, or 2?",=1,x,"a;b"\r\nc2,3?,3,,\r\n';
    const mapping = { expected: ['answer'], metadata: ['team'], tags: ['labels'] };
    const { version } = await uploadVersion(space, dataset_id, file, { mapping });
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
    const byRow = await uploadVersion(space, (await space.dataset()).dataset_id, 'question\nx\ny\n');
    const { dataset_id: other } = byRow;
    await space.post(`${recordsOf(other)}/import`, { dataset_version: 1 });
    expect(await externalIdsOf(space, other)).toEqual(['1', '2']);
  });

  it('follow the mapping even if columns have the names of an export', async () => {
    const { dataset_id } = await space.dataset();
    const names = 'input,expected,metadata,tags,label,category,source_kind,source_ref,external_id';
    const file = `${names}\nhello,world,,,,,manual,,x1\n`;
    const { version } = await uploadVersion(space, dataset_id, file);
    const path = `${recordsOf(dataset_id)}/import`;
    const refused = await space.post(path, { dataset_version: version, cells: 'json' });
    expect([...outcome(refused), ...places(refused)]).toEqual([400, 'invalid_request', '/lines/2/input']);
    const mapping = { expected: ['expected'] };
    const mapped = await uploadVersion(space, dataset_id, file, { mapping, case_id_column: 'external_id' });
    expect((await space.post(path, { dataset_version: mapped.version })).status).toBe(200);
    const [record] = await space.list<DatasetRecord>(recordsOf(dataset_id));
    expect(record).toMatchObject({ external_id: 'x1', expected: { expected: 'world' }, tags: [] });
    expect(record!.input).toMatchObject({ input: 'hello', source_kind: 'manual' });
  });

  const NAMED = [
    'Input,Expected,Tags,Metadata,source,id',
    '1 + 1,007,"a, b","{""n"": 1, ""m"": {""z"": [], ""a"": null}}",faq,c1',
    '"{""q"": ""json""}","[1, ""x""]",,,,c2',
    '{not json,true,"[""a,b""]",{},=1,c3',
    '',
  ].join('\n');
  const casesOf = async (datasetId: string) => {
    const rows = await space.list<DatasetCase>(`/eval/v1/datasets/${datasetId}/versions/1/rows`);
    return rows.map(({ case_id, ...one }) => ({ ...one, external_id: case_id }));
  };
  const importedAs = async (datasetId: string) => {
    const records = await space.list<DatasetRecord>(`${recordsOf(datasetId)}?sort=created_at`);
    return records.map(({ input, expected, metadata, tags, external_id }) => ({
      input,
      expected,
      metadata,
      tags,
      external_id,
    }));
  };

  it('equal the cases of a CSV version, with or without creating the version', async () => {
    const { dataset_id } = await space.dataset();
    await uploadVersion(space, dataset_id, NAMED);
    const cases = await casesOf(dataset_id);
    expect(cases[0]).toEqual({
      input: '1 + 1',
      expected: '007',
      metadata: { n: 1, m: { z: [], a: null }, source: 'faq' },
      tags: ['a', 'b'],
      external_id: 'c1',
    });
    await space.post(`${recordsOf(dataset_id)}/import`, { dataset_version: 1, cells: 'text' });
    expect(await importedAs(dataset_id)).toEqual(cases);
    const { dataset_id: other } = await space.dataset();
    await importRecords(space.editor, other, NAMED, 'cells=text', 'text/csv');
    expect(await importedAs(other)).toEqual(cases);
  });

  it('have the objects and arrays in cells, and numbers as written', async () => {
    const { dataset_id } = await space.dataset();
    await uploadVersion(space, dataset_id, NAMED);
    await space.post(`${recordsOf(dataset_id)}/import`, { dataset_version: 1 });
    const { dataset_id: other } = await space.dataset();
    await importRecords(space.editor, other, NAMED, '', 'text/csv');
    for (const records of [await importedAs(dataset_id), await importedAs(other)]) {
      expect(records.map(({ input, expected }) => [input, expected])).toEqual([
        ['1 + 1', '007'],
        [{ q: 'json' }, [1, 'x']],
        ['{not json', 'true'],
      ]);
    }
  });

  it('can be read from a plain CSV file of questions and answers', async () => {
    const { dataset_id } = await space.dataset();
    const file = ',question,ground_truth,label\n0,"1 + 1, please",2,hard\n1,2 + 2,,\n';
    expect((await importRecords(space.editor, dataset_id, file, '', 'text/csv')).body.created_count).toBe(2);
    const records = await space.list<DatasetRecord>(`${recordsOf(dataset_id)}?sort=created_at`);
    expect(records).toMatchObject([
      {
        input: { column_1: '0', question: '1 + 1, please' },
        expected: '2',
        label: 'hard',
        source_kind: 'manual',
        external_id: null,
      },
      { input: { column_1: '1', question: '2 + 2' }, expected: null, label: null },
    ]);
  });

  it('keep a case id in the metadata if external_id has its own column', async () => {
    const { dataset_id } = await space.dataset();
    await importRecords(space.editor, dataset_id, 'id,input,External_ID\n7,x,e1\n8,y,\n', '', 'text/csv');
    expect(await importedAs(dataset_id)).toMatchObject([
      { input: 'x', metadata: { id: '7' }, external_id: 'e1' },
      { input: 'y', metadata: { id: '8' }, external_id: null },
    ]);
  });

  it('can have cells of several megabytes, JSON or not', async () => {
    const { dataset_id } = await space.dataset();
    const long = 'x'.repeat(2 * 1024 * 1024);
    const file = `input,expected\n"{""a"":""${long}""}",{${long}\n`;
    expect((await importRecords(space.editor, dataset_id, file, '', 'text/csv')).status).toBe(200);
    const [record] = await importedAs(dataset_id);
    expect([record!.input, record!.expected]).toEqual([{ a: long }, `{${long}`]);
  });

  it('are rejected, skipped or updated on conflicts, depending on on_conflict', async () => {
    const id = await createDatasetWith(space, [
      { input: 'old', label: 'l', external_id: 'a' },
      { input: 'same', external_id: 'b' },
      { input: 'gone', external_id: 'c' },
    ]);
    const [archived] = await space.list<DatasetRecord>(`${recordsOf(id)}?external_id=c`);
    await space.archive(`${recordsOf(id)}/${archived!.dataset_record_id}`);
    const before = await contentsOf(space, id);
    const revision = await revisionOf(space, id);
    const file = jsonLines([
      { input: 'new', external_id: 'a' },
      { input: 'same', external_id: 'b' },
      { input: 'again', external_id: 'c' },
      { input: 'no id' },
    ]);
    const refused = await importRecords(space.editor, id, file);
    expect([...outcome(refused), ...places(refused)]).toEqual([
      409,
      'conflict',
      '/lines/1/external_id',
      '/lines/2/external_id',
    ]);
    expect([await contentsOf(space, id), await revisionOf(space, id)]).toEqual([before, revision]);

    const skipped = await importRecords(space.editor, id, file, 'on_conflict=skip');
    expect(skipped.body).toEqual({
      created_count: 2,
      updated_count: 0,
      unchanged_count: 0,
      skipped_count: 2,
    });
    expect((await contentsOf(space, id)).slice(0, 2)).toEqual(before);
    expect((await datasetOf(space, id)).record_count).toBe(4);

    const updated = await importRecords(space.editor, id, file, 'on_conflict=update');
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
    expect((await datasetOf(space, id)).record_count).toBe(5);
    const last = await revisionOf(space, id);
    await importRecords(
      space.editor,
      id,
      jsonLines([{ input: 'new', external_id: 'a' }]),
      'on_conflict=update',
    );
    expect(await revisionOf(space, id)).toBe(last);
  });

  it('are searchable, counted, versioned, and in later snapshots', async () => {
    const id = await createDatasetWith(space, [{ input: 'first' }]);
    const { experiment_id: early } = await space.experiment({ dataset_id: id });
    const file = jsonLines(
      Array.from({ length: 1200 }, (_, n) => ({ input: `word${n} imported`, external_id: `${n}` })),
    );
    expect((await importRecords(space.editor, id, file)).body.created_count).toBe(1200);
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

  it('can have a byte order mark, CRLF, blank lines and no final line break', async () => {
    const id = (await space.dataset()).dataset_id;
    expect(
      (await importRecords(space.editor, id, '\ufeff{"input":1}\r\n\r\n \t\n{"input":2}')).body.created_count,
    ).toBe(2);
    const media = 'application/x-ndjson; charset=UTF-8';
    expect((await importRecords(space.editor, id, '{"input":3}', '', media)).body.created_count).toBe(1);
    const csv = '\ufefflabel,input\nl,"{""a"":[1]}"\n,4\n';
    expect((await importRecords(space.editor, id, csv, '', 'text/csv')).body.created_count).toBe(2);
    expect((await contentsOf(space, id)).map((text) => (JSON.parse(text) as Fields).input)).toEqual([
      1,
      2,
      3,
      { a: [1] },
      '4',
    ]);
  });

  it('are imported once per Idempotency-Key', async () => {
    const id = (await space.dataset()).dataset_id;
    const key = { 'idempotency-key': 'import-1' };
    const once = () => importRecords(space.editor, id, '{"input":1}\n', '', MEDIA.jsonl, key);
    const [first, second] = [await once(), await once()];
    expect([second.status, second.headers.get('idempotency-replayed'), second.body]).toEqual([
      200,
      'true',
      first.body,
    ]);
    expect((await datasetOf(space, id)).record_count).toBe(1);
    const other = await importRecords(
      space.editor,
      id,
      '{"input":1}\n',
      'on_conflict=skip',
      MEDIA.jsonl,
      key,
    );
    expect(outcome(other)).toEqual([422, 'validation_failed']);
  });

  it('are stored for only one of two concurrent clients with the same ids', async () => {
    const id = (await space.dataset()).dataset_id;
    const file = jsonLines(Array.from({ length: 600 }, (_, n) => ({ input: n, external_id: `${n}` })));
    const answers = await Promise.all([
      importRecords(space.editor, id, file),
      importRecords(space.editor, id, file),
    ]);
    expect(statusesOf(answers)).toEqual([200, 409]);
    expect((await datasetOf(space, id)).record_count).toBe(600);
  });

  it('can be exported by viewers and imported by editors of the workspace', async () => {
    const id = await createDatasetWith(space, [{ input: 'secret', external_id: 'a' }]);
    const strangers = [(await EvaluationWorkspace.open(app)).editor, await space.sibling()];
    for (const stranger of strangers) {
      expect(outcome(await stranger.get(`${recordsOf(id)}/export`))).toEqual([404, 'not_found']);
      expect(outcome(await importRecords(stranger, id, '{"input":1}'))).toEqual([404, 'not_found']);
    }
    for (const unknown of UNKNOWN_IDS) {
      const path = recordsOf(encodeURIComponent(decodeURIComponent(unknown)));
      expect(outcome(await space.viewer.get(`${path}/export`))).toEqual([404, 'not_found']);
    }
    expect(outcome(await importRecords(space.viewer, id, '{"input":1}'))).toEqual([403, 'access_denied']);
    const runtime = await space.organization.as('runtime');
    expect(outcome(await runtime.get(`${recordsOf(id)}/export`))).toEqual([403, 'access_denied']);
    expect((await datasetOf(space, id)).record_count).toBe(1);
  });
});
