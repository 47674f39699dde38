import { sharedApp } from '#testing';
import { RecordRepository } from '../../../src/evaluation/datasets/records/record.repository';
import { type DatasetCase, fileOf, upload, uploadVersion, versionsOf } from './dataset-versions.fixture';
import {
  type BulkResponse,
  type DatasetRecord,
  EvaluationWorkspace,
  outcome,
  type Page,
  places,
  statuses,
} from './evaluation.harness';
import { exportRecords, importRecords, jsonLines, MEDIA, recordsOf } from './record-transfer.fixture';

const MIB = 1024 * 1024;

describe('records of the largest size or number', () => {
  const app = sharedApp({ env: { BODY_LIMIT_BYTES: '10485760' } });
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });
  afterEach(() => jest.restoreAllMocks());

  it('are read for an import in batches of a bounded size', async () => {
    const { dataset_id: id } = await space.dataset();
    const input = 'x'.repeat(5 * 1024 * 1024);
    for (const external_id of ['a', 'b', 'c']) {
      expect((await space.post(recordsOf(id), { input, external_id })).status).toBe(201);
    }
    const reads = jest.spyOn(app.get<RecordRepository>(RecordRepository), 'findByExternalIds');
    const lines = ['a', 'b', 'c'].map((external_id) => ({ input: 1, external_id }));
    const updated = await importRecords(space.editor, id, jsonLines(lines), 'on_conflict=update');
    expect(updated.body).toMatchObject({ updated_count: 3 });
    expect(reads.mock.calls.map(([, , , ids]) => ids)).toEqual([['a', 'b'], ['c']]);
  });

  it('are returned by a bulk create up to a size, and the other items are 413', async () => {
    const { dataset_id: id } = await space.dataset();
    const input = 'x'.repeat(9 * 1024 * 1024);
    for (const external_id of ['a', 'b', 'c']) {
      expect((await space.post(recordsOf(id), { input, external_id })).status).toBe(201);
    }
    const items = ['a', 'b', 'c', 'new'].map((external_id) => ({ input: 1, external_id }));
    const writing = (on_conflict: string, some: object[] = items) =>
      space.post<BulkResponse>(`${recordsOf(id)}/bulk`, { items: some, on_conflict });
    const skipped = await writing('skip');
    expect(statuses(skipped)).toEqual([200, 200, 413, 201]);
    expect(skipped.body.items[1]!.record!.input).toHaveLength(input.length);
    expect(skipped.body.items[2]!.error).toMatchObject({ code: 'payload_too_large' });
    expect(statuses(await writing('skip', [items[2]!]))).toEqual([200]);
    expect(statuses(await writing('error'))).toEqual([409, 409, 409, 409]);
    expect(statuses(await writing('update'))).toEqual([200, 200, 413, 413]);
    expect(statuses(await writing('update'))).toEqual([200, 200, 200, 200]);
  });

  it('round-trip unchanged at the largest size', async () => {
    const { dataset_id } = await space.dataset();
    const large = '"\n'.repeat(2 * 1024 * 1024); // 8 MiB as JSON, and 10 as a field of CSV
    const { dataset_record_id: id } = await space.record(dataset_id, { input: large });
    await space.editor.patch(`${recordsOf(dataset_id)}/${id}`, { expected: 'é'.repeat(2 * 1024 * 1024) });
    const before = (await exportRecords(space.viewer, dataset_id)).replace(/^.*?"input"/, '');
    expect(before.length).toBeGreaterThan(10 * 1024 * 1024);
    for (const format of ['jsonl', 'csv'] as const) {
      const { dataset_id: into } = await space.dataset();
      for (const cells of format === 'csv' ? ['&cells=auto', '&cells=json'] : ['']) {
        const text = await exportRecords(space.viewer, dataset_id, `format=${format}${cells}`);
        const answer = await importRecords(space.editor, into, text, cells, MEDIA[format]);
        expect(answer.body.created_count).toBe(1);
        const after = (await exportRecords(space.viewer, into)).replace(/^.*?"input"/, '');
        expect(after === before).toBe(true);
        const [record] = await space.list<DatasetRecord>(recordsOf(into));
        await space.archive(`${recordsOf(into)}/${record!.dataset_record_id}`);
      }
    }
  }, 180_000);

  it('are rejected in an import of more than 100,000', async () => {
    const id = (await space.dataset()).dataset_id;
    const answer = await importRecords(space.editor, id, '{"input":1}\n'.repeat(100_001));
    expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_request', '/lines/100001']);
  });

  it('are rejected in an import if one is too large, which the error names', async () => {
    const id = (await space.dataset()).dataset_id;
    const long = `{"input":1}\n{"input":"${'x'.repeat(21 * 1024 * 1024)}"}\n{"input":2}\n`;
    const answer = await importRecords(space.editor, id, long);
    expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_request', '/lines/2']);
    const cell = await importRecords(
      space.editor,
      id,
      `input\n1\n"""${'x'.repeat(10 * 1024 * 1024)}"""\n`,
      '',
      'text/csv',
    );
    expect([...outcome(cell), ...places(cell)]).toEqual([400, 'invalid_request', '/lines/3']);
  });
});

describe('a CSV upload of the largest size', () => {
  const app = sharedApp({ env: { BODY_LIMIT_BYTES: '10485760' } });
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const newDataset = async (): Promise<string> => (await space.dataset()).dataset_id;

  it('gets 413 over 32 MiB, or over the limit of JSON bodies', async () => {
    const id = await newDataset();
    const most = fileOf(32 * MIB);
    expect((await upload(space.editor, id, most)).body).toMatchObject({ version: 1, size_bytes: 32 * MIB });
    const form = await upload(space.editor, id, most, {}, 'form');
    expect([form.status, form.body.version]).toEqual([200, 1]);
    const more = Buffer.concat([most, Buffer.from('\n')]);
    expect(outcome(await upload(space.editor, id, more))).toEqual([413, 'payload_too_large']);
    expect(outcome(await upload(space.editor, id, more, {}, 'form'))).toEqual([413, 'payload_too_large']);
    expect(outcome(await upload(space.editor, id, fileOf(10 * MIB), {}, 'json'))).toEqual([
      413,
      'payload_too_large',
    ]);
    expect((await upload(space.editor, id, fileOf(9 * MIB), {}, 'json')).status).toBe(201);
  });

  it('gets 400 for a case of more than BODY_LIMIT_BYTES in JSON', async () => {
    const id = await newDataset();
    const rest = '{"case_id":"2","input":{"a":""},"expected":null,"metadata":{},"tags":[]}'.length;
    const most = 10 * MIB - rest;
    for (const [cell, fits] of [
      ['x'.repeat(most), true],
      ['x'.repeat(most + 1), false],
      ['字'.repeat(most / 3), true],
      ['字'.repeat(most / 3 + 1), false],
      ['\x01'.repeat(most / 6), true],
      ['\x01'.repeat(most / 6 + 1), false],
      ['\\'.repeat(most / 2 + 1), false],
    ] as const) {
      const answer = await upload(space.editor, id, `a\n1\n${cell}\n`);
      expect([cell[0], cell.length, answer.status]).toEqual([cell[0], cell.length, fits ? 201 : 400]);
      if (fits) {
        const path = `${versionsOf(id)}/${answer.body.version}/rows?offset=1`;
        const [row] = await space.list<DatasetCase>(path);
        expect(row!.input).toEqual({ a: cell });
      } else {
        expect((answer.body as unknown as { detail: string }).detail).toMatch(
          /In the body, line 3 makes a case of 10\d{6} bytes as escaped JSON/,
        );
      }
    }
  });

  it('gets 400 for more than 100,000 rows', async () => {
    const id = await newDataset();
    const most = await uploadVersion(
      space,
      id,
      `id\n${Array.from({ length: 100_000 }, (_, n) => `${n}\n`).join('')}`,
    );
    expect(most.row_count).toBe(100_000);
    const last = await space.list<DatasetCase>(`${versionsOf(id)}/1/rows?offset=99999`);
    expect(last).toEqual([{ case_id: '99999', input: {}, expected: null, metadata: {}, tags: [] }]);
    const more = await upload(space.editor, id, `a\n${'1\n'.repeat(100_001)}`);
    expect([more.status, (more.body as unknown as { detail: string }).detail]).toEqual([
      400,
      expect.stringMatching(/In the body, line 100002 .*100000/),
    ]);
  });

  it.each([
    ['of one byte', 'x'.repeat(3 * MIB)],
    ['of three bytes', '字'.repeat(MIB)],
    ['of six bytes in JSON', '\x01'.repeat(MIB / 2)],
  ])('has pages of rows of a bounded size, none of them empty (characters %s)', async (_, cell) => {
    const id = await newDataset();
    await uploadVersion(space, id, `a\n${`${cell}\n`.repeat(5)}`);
    const counts: number[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await space.viewer.get<Page<DatasetCase>>(
        `${versionsOf(id)}/1/rows?limit=500${query}`,
      );
      counts.push(body.items.length);
      cursor = body.page.next_cursor;
    } while (cursor !== null);
    // a second row of 3 MiB would exceed a page
    expect(counts).toEqual([1, 1, 1, 1, 1]);
  });
});
