import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';
import { sharedApp } from '#testing';
import { formOf, SkillCallers, SKILLS, skillMd, unzipped } from './skills.fixture';
import { zipOf } from './zip.fixture';

const FIXTURES = 'test/fixtures/skills';

/** The directories of public skills. */
const PUBLIC = readdirSync(FIXTURES, { withFileTypes: true }).flatMap((one) =>
  one.isDirectory() ? [one.name] : [],
);

/** Returns the files of a public skill, by path. */
const filesOf = (name: string): [string, Buffer][] =>
  readdirSync(`${FIXTURES}/${name}`, { recursive: true, withFileTypes: true }).flatMap((one) => {
    const path = `${one.parentPath}/${one.name}`;
    return one.isFile() ? [[path.slice(FIXTURES.length + 1), readFileSync(path)] as [string, Buffer]] : [];
  });

/** Returns a compressed archive, as written by an independent library. */
function packed(files: readonly (readonly [string, Buffer])[]): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [path, content] of files) zip.addBuffer(content, path);
  zip.end();
  return buffer(zip.outputStream);
}

describe('versions of skills', () => {
  const app = sharedApp();
  let callers: SkillCallers;

  beforeAll(async () => {
    callers = await SkillCallers.of(app);
  });

  let made = 0;
  const newName = (): string => `version-${(made += 1)}`;
  const contentOf = async (location: string): Promise<[string, Buffer][]> => {
    const { bytes } = await callers.download(`${location}/versions/1/content`);
    return [...(await unzipped(bytes))].map(([path, content]) => [path, Buffer.from(content, 'latin1')]);
  };

  it('return real skills unchanged, from a form and from an archive', async () => {
    expect(PUBLIC.length).toBeGreaterThanOrEqual(8);
    for (const name of PUBLIC) {
      const files = filesOf(name);
      const sorted = files.toSorted(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
      const formed = await callers.uploadForm(files);
      expect([name, formed.status, formed.body.name]).toEqual([name, 201, name]);
      expect(await contentOf(formed.headers.get('location')!)).toEqual(sorted);
      const elsewhere = await callers.org.newWorkspace();
      const zip = await packed(files);
      const zipped = await callers.upload(zip, `${SKILLS}?workspace_id=${elsewhere}`);
      expect(await contentOf(zipped.headers.get('location')!)).toEqual(sorted);
      expect(zipped.body.source_digest).toBe(formed.body.source_digest);
      const boxed = await callers.uploadForm([['my.zip', zip]], `${SKILLS}/${formed.body.skill_id}/versions`);
      expect([boxed.status, boxed.body.version_ordinal]).toEqual([200, 1]);
    }
  });

  it('store equal content once in an organization', async () => {
    const content = Buffer.from('once and for all');
    for (const name of [newName(), newName()]) {
      await callers.uploadForm([
        ['SKILL.md', skillMd(name)],
        ['a', content],
        ['b', content],
      ]);
    }
    const sha256 = createHash('sha256').update(content).digest('hex');
    const counted = await app.database.query(
      'SELECT count(*)::int AS count FROM skill_blobs WHERE sha256 = $1',
      [sha256],
    );
    expect(counted).toEqual([{ count: 1 }]);
  });

  it('are created from JSON, forms and archives, unless nothing changed', async () => {
    const name = newName();
    const first = await callers.uploadForm([
      [`dir/SKILL.md`, skillMd(name)],
      ['dir/a/b.txt', 'b'],
    ]);
    const path = `${SKILLS}/${first.body.skill_id}/versions`;
    const same = await callers.upload(
      zipOf([
        { name: 'SKILL.md', content: skillMd(name) },
        { name: 'a/b.txt', content: 'b' },
      ]),
      path,
    );
    expect([same.status, same.body.version_ordinal]).toEqual([200, 1]);
    const second = await callers.upload(zipOf([{ name: 'SKILL.md', content: skillMd(name) }]), path);
    expect([second.status, second.headers.get('location')]).toEqual([201, `${path}/2`]);
    const third = await callers.editor.post(path, { description: 'Written.', instructions: 'Anew.' });
    // omitted members are removed
    expect([third.status, third.body.name, third.body.file_count]).toEqual([201, name, 1]);
    const back = await callers.uploadForm(
      [
        ['dir/SKILL.md', skillMd(name)],
        ['dir/a/b.txt', 'b'],
      ],
      path,
    );
    expect([back.status, back.body.version_ordinal]).toEqual([201, 4]);
    expect(back.body.source_digest).toBe(first.body.source_digest);
    const skill = await callers.editor.get(`${SKILLS}/${first.body.skill_id}`);
    expect(skill.body).toMatchObject({ version_ordinal: 4, version_id: back.body.version_id, generation: 4 });
    const listed = await callers.editor.get(`${path}?limit=2`);
    expect(listed.body.items.map((one: any) => one.version_ordinal)).toEqual([4, 3]);
    for (const ordinal of ['5', '0', 'x', '01']) {
      expect((await callers.editor.get(`${path}/${ordinal}`)).status).toBe(404);
    }
  });

  it('are listed by number, in pages', async () => {
    const { body: skill } = await callers.create({ name: newName() });
    const path = `${SKILLS}/${skill.skill_id}/versions`;
    for (const instructions of ['2', '3', '4']) {
      await callers.editor.post(path, { description: 'd', instructions });
    }
    await app.database.query(
      `UPDATE skill_versions SET version_id = 'ver_0' WHERE skill_id = $1 AND version_ordinal = 3`,
      [skill.skill_id],
    );
    const ordinals: number[] = [];
    for (let cursor = ''; ;) {
      const { body } = await callers.editor.get(`${path}?limit=1${cursor}`);
      ordinals.push(...body.items.map((one: any) => one.version_ordinal as number));
      if (!body.page.next_cursor) break;
      cursor = `&cursor=${body.page.next_cursor}`;
    }
    expect(ordinals).toEqual([4, 3, 2, 1]);
    const first = await callers.editor.get(`${path}?sort=created_at`);
    expect(first.body.items.map((one: any) => one.version_ordinal)).toEqual([1, 2, 3, 4]);
    const beyond = Buffer.from('-created_at\n99999999999').toString('base64url');
    expect((await callers.editor.get(`${path}?cursor=${beyond}`)).status).toBe(400);
  });

  it('are numbered without gaps under concurrency', async () => {
    const { body: skill } = await callers.create({ name: newName() });
    const path = `${SKILLS}/${skill.skill_id}/versions`;
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        callers.editor.post(path, { description: 'd', instructions: `${i % 5}` }),
      ),
    );
    const fresh = answers.filter(({ status }) => status === 201).map(({ body }) => body.version_ordinal);
    expect(fresh.sort((a, b) => a - b)).toEqual(fresh.map((_, i) => i + 2));
    expect((await callers.editor.get(`${path}?limit=0`)).body.page.total).toBe(fresh.length + 1);
  });

  it('honour If-Match', async () => {
    const { body: skill } = await callers.create({ name: newName() });
    const path = `${SKILLS}/${skill.skill_id}`;
    const send = (ifMatch: string, instructions: string) =>
      callers.editor.post(`${path}/versions`, { description: 'd', instructions }, { 'if-match': ifMatch });
    const first = await send('"1"', 'First.');
    expect([first.status, first.body.version_ordinal]).toEqual([201, 2]);
    const stale = [await send('"1"', 'Second.'), await send('"1"', 'First.')];
    expect(stale.map(({ status, body }) => [status, body.code])).toEqual([
      [412, 'precondition_failed'],
      [412, 'precondition_failed'],
    ]);
    expect((await callers.editor.get(path)).body).toMatchObject({
      version_ordinal: 2,
      instructions: 'First.',
    });
    const { headers } = await callers.editor.get(path);
    expect((await send(headers.get('etag')!, 'Second.')).status).toBe(201);
  });

  it('have a reproducible archive with a digest', async () => {
    const files: [string, string][] = [
      ['golden/SKILL.md', '---\nname: golden\ndescription: Never changes.\n---\n\n# Golden\n'],
      ['golden/z.txt', 'z'],
      ['golden/\u{1F600}.txt', 'astral'],
      ['golden/\uFF5E.txt', 'before it'],
    ];
    const { body: skill } = await callers.uploadForm(files);
    const path = `${SKILLS}/${skill.skill_id}/versions/1/content`;
    const { status, headers, bytes } = await callers.download(path);
    const sha256 = createHash('sha256').update(bytes);
    const hex = sha256.copy().digest('hex');
    expect(status).toBe(200);
    expect(hex).toBe('78d6817e1c11c9ee13a38955580afa1ca8f922904590c362144a17d36627cab1');
    expect(skill.source_digest).toBe('420a10580bf9eaaa36f6ffd52a390a1b9134342d7cc395c0aab6d1dec8f7f328');
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/zip',
      'content-length': String(bytes.length),
      'content-disposition': 'attachment; filename="golden-v1.zip"',
      'repr-digest': `sha-256=:${sha256.digest('base64')}:`,
      etag: `"${hex}"`,
    });
    expect([...(await unzipped(bytes)).keys()]).toEqual([
      'golden/SKILL.md',
      'golden/z.txt',
      'golden/\uFF5E.txt',
      'golden/\u{1F600}.txt',
    ]);
    expect((await callers.download(path)).bytes).toEqual(bytes);
    const notModified = await callers.download(path, { 'if-none-match': `"${hex}"` });
    expect([notModified.status, notModified.bytes.length]).toEqual([304, 0]);
  });

  it('return 400 for unsafe paths and missing files', async () => {
    const answers = [
      await callers.uploadForm([
        ['SKILL.md', skillMd(newName())],
        ['../../evil', 'x'],
      ]),
      await callers.uploadForm([
        ['SKILL.md', skillMd(newName())],
        ['a\\\\..\\\\b', 'x'],
      ]),
      await callers.uploadForm([]),
      await callers.editor.post(SKILLS, formOf([['SKILL.md', skillMd(newName())]]), {
        'content-type': 'multipart/form-data; boundary=b',
      }),
      await callers.uploadForm(Array.from({ length: 2001 }, (_, i) => [`${i}`, ''] as const)),
      await callers.uploadForm([['a.zip', 'no archive']]),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 400));
    expect(answers[0]!.body.detail).toMatch(/leave the directory/);
    expect(answers[1]!.body.detail).toMatch(/backslash/);
    expect(answers[3]!.body.errors).toEqual([{ pointer: '/workspace_id', detail: 'is required' }]);
  });

  it('return 415 for another media type', async () => {
    const answer = await callers.editor.post(SKILLS, 'x', { 'content-type': 'application/gzip' });
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
  });

  it('replay the first response for an Idempotency-Key', async () => {
    const zip = zipOf([{ name: 'SKILL.md', content: skillMd(newName()) }]);
    const send = () =>
      callers.editor.post(`${SKILLS}?workspace_id=${callers.org.workspaceId}`, zip, {
        'content-type': 'application/zip',
        'idempotency-key': 'upload-once',
      });
    const [first, again] = [await send(), await send()];
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(again.body).toEqual(first.body);
  });
});
