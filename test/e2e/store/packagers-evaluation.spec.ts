import { sharedApp } from '#testing';
import type { ArtifactReference } from '../../../src/resources';
import { upload } from '../evaluation/dataset-versions.fixture';
import { type Dataset, type DatasetRecord, EvaluationWorkspace } from '../evaluation/evaluation.harness';
import {
  contentOf,
  exportRecords,
  importRecords,
  jsonLines,
  recordsOf,
} from '../evaluation/record-transfer.fixture';
import { ScoringFixture } from '../evaluation/scoring.fixture';
import { bytesOf, PackageWorkspace } from './package-workspace.fixture';

/** Records with values that are hard to preserve: order of members, large integers, null and unusual text. */
const RECORDS = [
  '{"input":{"z":1152921504606846976,"a":[0.1,1e21,-5]},"expected":{"10":"x","9":"y"},"external_id":"big"}',
  '{"input":null,"expected":null,"label":"none"}',
  '{"input":"ünïcödé 漢字 😀 \\u2028 \\"quoted\\" \\r\\n","metadata":{"__proto__":{"x":1}},"tags":["b","a"]}',
  '{"input":[9007199254740993,1.0,-0,1e-400,"a\\u0000b"],"expected":{"\\u0000":0.1000000000000000000001}}',
  '{"input":[[],{},""],"category":"c","source_kind":"trace","source_ref":"t1"}',
].join('\n');

/** A patch with an integer beyond 2^53, and members in an order that JavaScript would change. */
const METADATA = '{"metadata":{"z":1152921504606846977,"f":1.0,"nul":"\\u0000","a":{"2":1,"1":2}}}';

const CSV = '\ufeffid,question,answer,level\r\nc1,"1 + 1, please",2,easy\r\nc2,"say ""hi""\nünï",hi,\r\n';

describe('when published,', () => {
  const app = sharedApp();
  let from: EvaluationWorkspace;
  let to: EvaluationWorkspace;
  let publisher: PackageWorkspace;
  let acquirer: PackageWorkspace;

  beforeEach(async () => {
    from = await EvaluationWorkspace.open(app);
    to = await EvaluationWorkspace.open(app);
    publisher = new PackageWorkspace(app, from.organization);
    acquirer = new PackageWorkspace(app, to.organization);
  });

  const dataset = ({ dataset_id }: Dataset): ArtifactReference => ({
    kind: 'dataset',
    artifact_id: dataset_id,
  });
  const datasetAt = async (space: EvaluationWorkspace, id: string) =>
    (await space.viewer.get<Dataset>(`/eval/v1/datasets/${id}`)).body;
  const packedBytes = async (reference: ArtifactReference) => bytesOf(await publisher.pack(reference));
  const published = async (reference: ArtifactReference, releaseId?: string) => {
    const packed = await publisher.pack(reference);
    try {
      return await acquirer.install(packed, releaseId);
    } finally {
      await packed.close?.();
    }
  };
  const withRecords = async (records: string, members = {}) => {
    const made = await from.dataset(members);
    expect((await importRecords(from.editor, made.dataset_id, records)).status).toBe(200);
    return made;
  };
  const inputsOf = async (space: EvaluationWorkspace, id: string) =>
    (await space.list<DatasetRecord>(`${recordsOf(id)}?sort=created_at&limit=500`)).map(({ input }) => input);

  describe('a dataset', () => {
    it('has the same members, records and CSV bytes in another organization', async () => {
      const made = await withRecords(RECORDS, {
        name: 'cases',
        description: 'ü',
        tags: ['t2', 't1'],
        expected_schema: { type: ['object', 'null'] },
      });
      const path = `/eval/v1/datasets/${made.dataset_id}`;
      expect((await from.editor.patch(path, METADATA)).status).toBe(200);
      const mapping = { expected: ['answer'], tags: ['level'] };
      await upload(from.editor, made.dataset_id, CSV, { mapping });
      const copy = await published(dataset(made), 'rel_1');
      expect(copy).toMatchObject({ kind: 'dataset', name: 'cases', change: 'created' });
      const { acquired_from, ...view } = await datasetAt(to, copy.artifact_id);
      expect(view).toMatchObject({
        name: 'cases',
        description: 'ü',
        tags: ['t2', 't1'],
        metadata: (await datasetAt(from, made.dataset_id)).metadata,
        expected_schema: made.expected_schema,
        input_schema: null,
        record_count: 5,
        latest_version: 1,
        created_by: 'test',
      });
      expect(acquired_from).toMatchObject({ release_id: 'rel_1', artifact_id: made.dataset_id });
      const text = (exportOf: string) => exportOf.replaceAll(/"dataset_record_id":"rec_\w+",/g, '');
      const texts = [
        text(await exportRecords(from.viewer, made.dataset_id)),
        text(await exportRecords(to.viewer, copy.artifact_id)),
      ];
      expect(texts[0]).toContain('1152921504606846976');
      expect(texts[0]).toContain('"input":[9007199254740993,1.0,-0,1e-400,"a\\u0000b"]');
      expect(texts[1]).toBe(texts[0]);
      const csvOf = (space: EvaluationWorkspace, id: string) =>
        space.viewer.get(`/eval/v1/datasets/${id}/versions/1/content`);
      expect((await csvOf(to, copy.artifact_id)).body).toBe((await csvOf(from, made.dataset_id)).body);
      const rowsOf = (space: EvaluationWorkspace, id: string) =>
        space.viewer.get(`/eval/v1/datasets/${id}/versions/1/rows`);
      expect((await rowsOf(to, copy.artifact_id)).body).toEqual((await rowsOf(from, made.dataset_id)).body);
      expect(await packedBytes(dataset(made))).toEqual(
        await bytesOf(await acquirer.pack({ kind: 'dataset', artifact_id: copy.artifact_id })),
      );
    });

    it('has the same bytes after changes that are undone, whatever else the workspace contains', async () => {
      const made = await withRecords(RECORDS);
      const before = await packedBytes(dataset(made));
      expect(before['records.jsonl']).not.toMatch(/rec_|ver_|ds_|wsp_|20\d\d-/);
      const extra = await from.record(made.dataset_id, { input: 'extra' });
      await from.archive(`${recordsOf(made.dataset_id)}/${extra.dataset_record_id}`);
      const [first] = await from.list<DatasetRecord>(`${recordsOf(made.dataset_id)}?sort=created_at`);
      const path = `${recordsOf(made.dataset_id)}/${first!.dataset_record_id}`;
      await from.editor.patch(path, { label: 'changed' });
      await from.editor.patch(path, { label: first!.label });
      await from.editor.patch(`/eval/v1/datasets/${made.dataset_id}`, { description: 'changed' });
      await from.editor.patch(`/eval/v1/datasets/${made.dataset_id}`, { description: null });
      await to.record((await to.dataset({ name: made.name })).dataset_id, { input: 'of another tenant' });
      expect(await packedBytes(dataset(made))).toEqual(before);
    });

    it('is packed as pinned, whatever changes in the meantime', async () => {
      const made = await withRecords(RECORDS);
      const before = await packedBytes(dataset(made));
      const pinned = await publisher.pin(dataset(made));
      expect(pinned!.version_id).toBe(`${made.dataset_id}.${pinned!.version_ordinal}`);
      const [first, second] = await from.list<DatasetRecord>(`${recordsOf(made.dataset_id)}?sort=created_at`);
      await from.editor.patch(`${recordsOf(made.dataset_id)}/${first!.dataset_record_id}`, { input: 'new' });
      await from.archive(`${recordsOf(made.dataset_id)}/${second!.dataset_record_id}`);
      await from.record(made.dataset_id, { input: 'added' });
      await from.editor.patch(`/eval/v1/datasets/${made.dataset_id}`, { name: 'renamed' });
      await upload(from.editor, made.dataset_id, CSV);
      expect(await bytesOf(await publisher.packPinned(pinned!))).toEqual(before);
    });

    it('has the same cases if its columns were recognized by their headers', async () => {
      const made = await from.dataset();
      const file = 'Input,Expected,Metadata,Tags,split\nhi,hello,"{""n"": 1}","a, b",dev\n';
      await upload(from.editor, made.dataset_id, file);
      const copy = await published(dataset(made));
      for (const path of ['versions/1', 'versions/1/rows']) {
        const read = async (space: EvaluationWorkspace, id: string) =>
          (await space.viewer.get<Record<string, unknown>>(`/eval/v1/datasets/${id}/${path}`)).body;
        const [before, after] = [await read(from, made.dataset_id), await read(to, copy.artifact_id)];
        for (const member of ['items', 'columns', 'mapping', 'value_columns', 'sha256']) {
          expect(after[member]).toEqual(before[member]);
        }
      }
      expect(await packedBytes(dataset(made))).toEqual(
        await bytesOf(await acquirer.pack({ kind: 'dataset', artifact_id: copy.artifact_id })),
      );
    });

    it('contains only the CSV file if a CSV version is pinned', async () => {
      const made = await withRecords(RECORDS);
      await upload(from.editor, made.dataset_id, CSV);
      const { body: second } = await upload(from.editor, made.dataset_id, 'text\nlater\n');
      for (const version of [{ version_ordinal: 1 }, { version_id: second.version_id }]) {
        const packed = await publisher.pack({ ...dataset(made), ...version });
        expect(packed.pinned).toMatchObject(version);
        const bytes = await bytesOf(packed);
        expect(Object.keys(bytes)).toEqual(['dataset.json', 'version.csv']);
      }
      const missing = [{ version_ordinal: 3 }, { version_ordinal: 2 ** 40 }, { version_id: 'ver_none' }];
      const mixed = [
        { version_ordinal: 1, version_id: second.version_id },
        { version_id: `${made.dataset_id}.1` },
      ];
      for (const version of [...missing, ...mixed]) {
        expect(await publisher.pin({ ...dataset(made), ...version })).toBeNull();
      }
      expect(await acquirer.pin(dataset(made))).toBeNull();
      const copy = await published({ ...dataset(made), version_ordinal: 1 });
      expect(await datasetAt(to, copy.artifact_id)).toMatchObject({ record_count: 0, latest_version: 1 });
    });

    it('is unchanged when it is installed again', async () => {
      const made = await withRecords(RECORDS);
      await upload(from.editor, made.dataset_id, CSV);
      const copy = await published(dataset(made), 'rel_1');
      const before = await to.viewer.get<Dataset>(`/eval/v1/datasets/${copy.artifact_id}`);
      expect(await published(dataset(made), 'rel_1')).toEqual({ ...copy, change: 'unchanged' });
      const after = await to.viewer.get<Dataset>(`/eval/v1/datasets/${copy.artifact_id}`);
      expect([after.body, after.headers.get('etag')]).toEqual([before.body, before.headers.get('etag')]);
      expect(await published(dataset(made), 'rel_2')).toMatchObject({ change: 'unchanged' });
      expect((await datasetAt(to, copy.artifact_id)).acquired_from).toMatchObject({ release_id: 'rel_2' });
    });

    it('is upgraded with new records and files, and keeps the changes of its users', async () => {
      const lines = ['gone', 'edited', 'stays', 'twice', 'twice'].map((input) => ({ input }));
      const keyed = ['a', 'b'].map((external_id) => ({ input: `${external_id} 1`, external_id }));
      const made = await withRecords(jsonLines([...lines, ...keyed]));
      const copy = await published(dataset(made));
      const own = await to.record(copy.artifact_id, { input: 'own' });
      const withKey = await to.record(copy.artifact_id, { input: 'own key', external_id: 'c' });
      const changing = async (space: EvaluationWorkspace, id: string, input: string, change: object) => {
        const records = await space.list<DatasetRecord>(`${recordsOf(id)}?limit=500`);
        const record = records.find((one) => one.input === input)!;
        const path = `${recordsOf(id)}/${record.dataset_record_id}`;
        if (Object.keys(change).length === 0) await space.archive(path);
        else expect((await space.editor.patch(path, change)).status).toBe(200);
        return record;
      };
      await changing(to, copy.artifact_id, 'edited', { expected: 'by a user' });
      const first = await changing(to, copy.artifact_id, 'b 1', { label: 'by a user' });

      await changing(from, made.dataset_id, 'gone', {});
      await changing(from, made.dataset_id, 'edited', {});
      await changing(from, made.dataset_id, 'twice', {});
      await changing(from, made.dataset_id, 'a 1', { input: 'a 2' });
      await changing(from, made.dataset_id, 'b 1', { input: 'b 2' });
      await from.record(made.dataset_id, { input: 'new', external_id: 'c' });
      await from.record(made.dataset_id, { input: 'new' });
      await upload(from.editor, made.dataset_id, CSV);
      const upgraded = await published(dataset(made), 'rel_2');
      expect(upgraded).toMatchObject({ artifact_id: copy.artifact_id, change: 'updated' });
      expect(upgraded.setup).toMatch(/^2 records /);

      const inputs = ['edited', 'stays', 'twice', 'a 2', 'b 1', 'own', 'own key', 'new'];
      expect((await inputsOf(to, copy.artifact_id)).sort()).toEqual([...inputs].sort());
      expect(await datasetAt(to, copy.artifact_id)).toMatchObject({
        record_count: inputs.length,
        latest_version: 1,
      });
      for (const { dataset_record_id: id, ...record } of [own, withKey, { ...first, label: 'by a user' }]) {
        const { body } = await to.viewer.get<DatasetRecord>(`${recordsOf(copy.artifact_id)}/${id}`);
        expect(contentOf(body)).toEqual(contentOf(record as DatasetRecord));
      }
      const again = await published(dataset(made), 'rel_2');
      expect(again).toMatchObject({ change: 'unchanged', version_id: upgraded.version_id });
    });

    it('is installed in the same order if it has 3,000 records', async () => {
      const lines = Array.from({ length: 3_000 }, (_, n) => ({ input: { n }, external_id: `key ${n}` }));
      const made = await withRecords(jsonLines(lines));
      const copy = await published(dataset(made));
      const { record_count } = await datasetAt(to, copy.artifact_id);
      expect([copy.change, record_count]).toEqual(['created', 3_000]);
      expect(await published(dataset(made))).toMatchObject({ change: 'unchanged' });
      const bytes = await bytesOf(await acquirer.pack({ kind: 'dataset', artifact_id: copy.artifact_id }));
      expect(bytes).toEqual(await packedBytes(dataset(made)));
    });

    it('is rejected if it has too many records, before they are read', async () => {
      const made = await from.dataset();
      await app.database.query(
        `UPDATE datasets SET record_count = 100001 WHERE dataset_id = '${made.dataset_id}'`,
      );
      await expect(publisher.pack(dataset(made))).rejects.toMatchObject({ code: 'validation_failed' });
    });

    it('returns 409 if its name is taken, and writes nothing', async () => {
      const made = await withRecords(RECORDS, { name: 'taken' });
      const other = await to.dataset({ name: 'taken' });
      await expect(published(dataset(made))).rejects.toMatchObject({
        code: 'conflict',
        detail: expect.stringContaining(other.dataset_id),
      });
      expect(await to.list('/eval/v1/datasets')).toHaveLength(1);
    });

    it('keeps its origin when a user changes it, and is copied again once it is archived', async () => {
      const made = await withRecords(RECORDS);
      const copy = await published(dataset(made), 'rel_1');
      const path = `/eval/v1/datasets/${copy.artifact_id}`;
      const { body } = await to.editor.patch<Dataset>(path, { acquired_from: null, name: 'renamed' });
      expect([body.name, body.acquired_from]).toMatchObject(['renamed', { release_id: 'rel_1' }]);
      await to.archive(path);
      const second = await published(dataset(made));
      expect([second.change, second.artifact_id === copy.artifact_id]).toEqual(['created', false]);
    });

    it('can be used in experiments', async () => {
      const made = await withRecords(RECORDS);
      const copy = await published(dataset(made));
      const experiment = await to.experiment({ dataset_id: copy.artifact_id });
      const { dataset_snapshot } = await to.finalize(experiment.experiment_id);
      expect(dataset_snapshot).toMatchObject({ dataset_id: copy.artifact_id, record_count: 5 });
      await upload(from.editor, made.dataset_id, CSV, { mapping: { expected: ['answer'] } });
      expect(await published(dataset(made))).toMatchObject({ change: 'updated' });
      const pinned = await to.experiment({ dataset_id: copy.artifact_id, dataset_version: 1 });
      expect(await to.results(pinned.experiment_id, [{ case_id: 'c2' }, { case_id: 'c3' }])).toEqual([
        201, 400,
      ]);
    });
  });

  describe('a scorer', () => {
    let there: ScoringFixture;
    let here: ScoringFixture;
    beforeEach(async () => {
      there = await ScoringFixture.create(app);
      here = await ScoringFixture.create(app);
      publisher = new PackageWorkspace(app, there.organization);
      acquirer = new PackageWorkspace(app, here.organization);
    });
    const scorer = (one: { scorer_id: string }): ArtifactReference => ({
      kind: 'scorer',
      artifact_id: one.scorer_id,
    });
    const pathOf = (id: string) => `/eval/v1/scorers/${id}`;

    it('has the same content in another organization, and can score', async () => {
      const members = {
        name: 'exact ü',
        description: 'd',
        grain: 'trace',
        tags: ['b', 'a'],
      };
      const made = await there.scorer(members);
      const { body: patched } = await there.evaluator.patch(pathOf(made.scorer_id), METADATA);
      const bytes = await packedBytes(scorer(made));
      expect(Buffer.from(bytes['scorer.json']!, 'latin1').toString()).toContain('"z":1152921504606846977');
      const copy = await published(scorer(made), 'rel_1');
      expect(copy).toMatchObject({ kind: 'scorer', version_ordinal: 1, change: 'created' });
      const { body } = await here.evaluator.get(pathOf(copy.artifact_id));
      expect(body).toMatchObject({ ...members, definition: made.definition, metadata: patched.metadata });
      expect(body.acquired_from).toMatchObject({ release_id: 'rel_1', version_id: patched.version_id });
      expect(await bytesOf(await acquirer.pack(scorer(body)))).toEqual(bytes);
      const experiment = await here.experiment();
      await here.result(experiment, { output: 'a', expected: 'a' });
      const { experiment_id } = experiment;
      const scored = await here.score(body, { mode: 'test', experiment_id });
      expect(scored.body.results).toMatchObject([{ score: 1 }]);
    });

    it('gets a version for a release with other content, and none for the same content', async () => {
      const made = await there.scorer({ description: 'first' });
      const copy = await published(scorer(made), 'rel_1');
      expect(await published(scorer(made), 'rel_1')).toEqual({ ...copy, change: 'unchanged' });
      expect(await published(scorer(made), 'rel_2')).toEqual({ ...copy, change: 'unchanged' });
      expect((await here.evaluator.get(pathOf(copy.artifact_id))).body).toMatchObject({
        scorer_version: 1,
        acquired_from: { release_id: 'rel_2' },
      });
      const definition = { language: 'javascript', source: 'function score() { return 0; }' };
      await there.evaluator.patch(pathOf(made.scorer_id), { definition, description: 'second' });
      expect(await published(scorer(made))).toMatchObject({
        artifact_id: copy.artifact_id,
        version_ordinal: 2,
        change: 'updated',
      });
      expect((await here.evaluator.get(pathOf(copy.artifact_id))).body).toMatchObject({ definition });
      expect(await published(scorer(made))).toMatchObject({ version_ordinal: 2, change: 'unchanged' });
      const first = await published({ ...scorer(made), version_ordinal: 1 });
      expect(first).toMatchObject({ version_ordinal: 3, change: 'updated' });
      const { body } = await here.evaluator.patch(pathOf(copy.artifact_id), {
        acquired_from: null,
        description: 'own',
      });
      expect(body).toMatchObject({ scorer_version: 3, acquired_from: { version_id: made.version_id } });
      const missing = [{ version_ordinal: 3 }, { version_ordinal: 2 ** 40 }, { version_id: 'ver_none' }];
      for (const version of missing) {
        expect(await publisher.pin({ ...scorer(made), ...version })).toBeNull();
      }
      await there.evaluator.post(`${pathOf(made.scorer_id)}/archive`);
      expect(await publisher.pin(scorer(made))).toBeNull();
    });

    it('is packed with its newest texts, and a copy keeps its own', async () => {
      const made = await there.scorer({ name: 'theirs', description: 'first' });
      const copy = await published(scorer(made));
      const own = { name: 'ours', description: 'own', tags: ['own'], metadata: { own: 1 } };
      await here.evaluator.patch(pathOf(copy.artifact_id), own);
      await there.evaluator.patch(pathOf(made.scorer_id), { description: 'second', tags: ['new'] });
      const bytes = await packedBytes(scorer(made));
      expect(JSON.parse(bytes['scorer.json']!)).toMatchObject({ description: 'second', tags: ['new'] });
      expect(await published(scorer(made))).toEqual({ ...copy, name: 'ours', change: 'unchanged' });
      await there.evaluator.patch(pathOf(made.scorer_id), { grain: 'session' });
      expect(await published(scorer(made))).toMatchObject({ version_ordinal: 2, change: 'updated' });
      const { body } = await here.evaluator.get(pathOf(copy.artifact_id));
      expect(body).toMatchObject({ ...own, grain: 'session', scorer_version: 2 });
      const elsewhere = await ScoringFixture.create(app);
      acquirer = new PackageWorkspace(app, elsewhere.organization);
      const second = await published(scorer(made));
      expect((await elsewhere.evaluator.get(pathOf(second.artifact_id))).body).toMatchObject({
        name: 'theirs',
        description: 'second',
      });
    });

    it('returns 409 if its name is taken or its copy has another kind, and writes nothing', async () => {
      const made = await there.scorer({ name: 'taken' });
      const other = await here.scorer({ name: 'taken' });
      await expect(published(scorer(made))).rejects.toMatchObject({
        code: 'conflict',
        detail: expect.stringContaining(other.scorer_id),
      });
      expect((await here.evaluator.get('/eval/v1/scorers')).body.items).toHaveLength(1);
      const human = await there.scorer({
        scorer_kind: 'human',
        definition: { rubric: 'Is it right?', output: { type: 'boolean' } },
      });
      const copy = await published(scorer(human));
      await app.database.query(
        `UPDATE scorers SET scorer_kind = 'code' WHERE scorer_id = '${copy.artifact_id}'`,
      );
      await expect(published(scorer(human))).rejects.toMatchObject({ code: 'conflict' });
    });

    it('is not installed if this service rejects its definition', async () => {
      const made = await there.scorer();
      const packed = await publisher.pack(scorer(made));
      const text = JSON.stringify({ ...made, definition: { language: 'cobol', source: '' } });
      const broken = Buffer.from(text);
      const content = () => (async function* () { yield await Promise.resolve(broken); })(); // oxfmt-ignore
      const files = [{ path: 'scorer.json', size_bytes: broken.length, sha256: '', content }];
      await expect(acquirer.install({ ...packed, files })).rejects.toMatchObject({
        code: 'invalid_request',
        detail: expect.stringContaining('/definition'),
      });
    });
  });
});
