import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { type Answer, sharedApp } from '#testing';
import { formOf, SkillCallers, SKILLS, skillMd, unzipped } from './skills.fixture';
import { type RawEntry, unicodePath, zipOf } from './zip.fixture';

const FORM = 'multipart/form-data; boundary=b';

let made = 0;
const newName = (): string => `structure-${(made += 1)}`;
const file = (name: string, more: Partial<RawEntry> = {}): RawEntry => ({ name, content: 'x', ...more });

describe('the structure of an archive', () => {
  const app = sharedApp();
  let callers: SkillCallers;

  beforeAll(async () => {
    callers = await SkillCallers.of(app);
  });

  it.each([false, true])(
    'may be a stream that another library wrote (zip64: %s)',
    async (forceZip64Format) => {
      const zip = new ZipFile();
      const name = newName();
      zip.addEmptyDirectory(`${name}/scripts`);
      zip.addReadStream(Readable.from([skillMd(name)]), `${name}/SKILL.md`, { forceZip64Format });
      zip.addReadStream(Readable.from(['stored']), `${name}/scripts/ä`, {
        compress: false,
        forceZip64Format,
      });
      zip.addBuffer(Buffer.from('more'), `${name}/more`, { forceZip64Format });
      zip.end({ forceZip64Format, comment: '' });
      const answer = await callers.upload(await buffer(zip.outputStream));
      expect([answer.body.detail, answer.status]).toEqual([undefined, 201]);
      const { bytes } = await callers.download(`${answer.headers.get('location')}/versions/1/content`);
      expect([...(await unzipped(bytes))].slice(1)).toEqual([
        [`${name}/more`, 'more'],
        [`${name}/scripts/ä`, 'stored'],
      ]);
    },
  );

  const pathsOf = async ({ headers }: Answer): Promise<string[]> => {
    const { body } = await callers.editor.get(`${headers.get('location')}/versions/1`);
    return body.files.map(({ path }: any) => path);
  };

  it.each(['application/zip', 'application/x-zip-compressed', 'application/octet-stream'])(
    'may be a .skill file, sent as %s',
    async (media) => {
      const [name, formed] = [newName(), newName()];
      const archive = (of: string): Buffer =>
        zipOf([
          { name: `${of}/SKILL.md`, content: skillMd(of), method: 8 },
          { name: `${of}/scripts/run.py`, content: 'x'.repeat(100), method: 8 },
        ]);
      const path = `${SKILLS}?workspace_id=${callers.org.workspaceId}`;
      const answer = await callers.editor.post(path, archive(name), { 'content-type': media });
      expect([answer.status, answer.body.name]).toEqual([201, name]);
      expect(await pathsOf(answer)).toEqual(['SKILL.md', 'scripts/run.py']);
      const form = formOf([[`${formed}.skill`, archive(formed)]], callers.org.workspaceId, media);
      const sent = await callers.editor.post(SKILLS, form, { 'content-type': FORM });
      expect([sent.status, sent.body.name, sent.body.file_count]).toEqual([201, formed, 2]);
      const versions = `${answer.headers.get('location')}/versions`;
      const again = await callers.editor.post(versions, archive(name), { 'content-type': media });
      expect([again.status, again.body.version_ordinal]).toEqual([200, 1]);
    },
  );

  it('is recognized in a form without its extension, and rejected if it is not a zip file', async () => {
    const name = newName();
    const answer = await callers.uploadForm([
      ['blob', zipOf([{ name: 'SKILL.md', content: skillMd(name) }])],
    ]);
    expect([answer.status, answer.body.name]).toEqual([201, name]);
    const refused = await callers.uploadForm([['a.skill', 'no archive']]);
    expect([refused.status, refused.body.detail]).toEqual([
      400,
      'The file is not a valid zip archive, or is truncated.',
    ]);
  });

  it('is rejected with the directories of its skills if it has several', async () => {
    const { status, body } = await callers.upload(
      zipOf(['a', 'b'].map((name) => ({ name: `all/${name}/SKILL.md`, content: skillMd(name) }))),
    );
    expect([status, body.detail]).toEqual([
      400,
      'There is no SKILL.md at the top of the directory. These directories have one: "a/", "b/". Upload each skill separately.',
    ]);
  });

  it('may have names in another encoding beside a Unicode path', async () => {
    const name = newName();
    const other = Buffer.from([0x81, 0x62, 0x65, 0x72, 0x2e, 0x6d, 0x64]); // über.md in CP437
    const named = (path: string, of = other): Partial<RawEntry> => ({
      flags: 0,
      extra: unicodePath(path, of),
    });
    const archive = (more: Partial<RawEntry>): Buffer =>
      zipOf([
        { name: 'SKILL.md', content: skillMd(name) },
        { name: other, content: 'x', ...more },
      ]);
    const refused = async (more: Partial<RawEntry>): Promise<string> => {
      const { status, body } = await callers.upload(archive(more));
      return `${status}: ${body.detail}`;
    };
    // without the extra field, or if the field is of an earlier name
    expect(await refused({ flags: 0 })).toMatch(/^400: .* must be UTF-8/);
    expect(await refused(named('über.md', Buffer.from('renamed')))).toMatch(/^400: .* must be UTF-8/);
    expect(await refused(named('../über.md'))).toMatch(/^400: .* leave the directory/);
    expect(await refused(named('skill.MD'))).toMatch(/^400: .* are the same on file systems/);
    const answer = await callers.upload(archive(named('über.md')));
    expect([answer.status, await pathsOf(answer)]).toEqual([201, ['SKILL.md', 'über.md']]);
  });

  it('may have names in UTF-8 that are not marked as such, as macOS writes them', async () => {
    const name = newName();
    const answer = await callers.upload(
      zipOf([{ name: 'SKILL.md', content: skillMd(name), flags: 0 }, file('世界.md', { flags: 0 })]),
    );
    expect([answer.status, await pathsOf(answer)]).toEqual([201, ['SKILL.md', '世界.md']]);
  });

  it('may have backslashes between directories if a Windows archiver wrote it', async () => {
    const name = newName();
    const archive = (path: string, host: number): Buffer =>
      zipOf([
        { name: `${name}\\SKILL.md`, content: skillMd(name), host },
        { name: `${name}\\empty\\`, host },
        file(path, { host }),
      ]);
    const answer = await callers.upload(archive(`${name}\\scripts\\run.ps1`, 0));
    expect([answer.status, await pathsOf(answer)]).toEqual([201, ['SKILL.md', 'scripts/run.ps1']]);
    for (const path of [`${name}\\..\\..\\evil`, '\\evil', 'C:\\evil']) {
      expect((await callers.upload(archive(path, 0))).status).toBe(400);
    }
    const onUnix = await callers.upload(archive(`${name}\\scripts`, 3));
    expect([onUnix.status, onUnix.body.detail]).toEqual([400, expect.stringMatching(/a backslash/)]);
  });

  it('loses the files that macOS adds, like a form and JSON', async () => {
    const [zipped, formed, written] = [newName(), newName(), newName()];
    const added = ['.DS_Store', '._SKILL.md', 'docs/._a.md', '__MACOSX/._x', 'docs/Icon\r', '__MACOSX/a:b'];
    const kept = ['docs/a.md', '.hidden', 'docs/_a', 'docs/a._b'];
    const others = [...added, ...kept];
    const answers = [
      await callers.upload(
        zipOf([
          { name: `${zipped}/SKILL.md`, content: skillMd(zipped) },
          ...others.map((path) => file(`${zipped}/${path}`)),
          file(`__MACOSX/${zipped}/._SKILL.md`),
          { name: '__MACOSX/', mode: 0o040755 },
        ]),
      ),
      await callers.uploadForm([
        [`${formed}/SKILL.md`, skillMd(formed)],
        ...others.filter((path) => !path.includes('\r')).map((path) => [`${formed}/${path}`, 'x'] as const),
        [`__MACOSX/${formed}/._SKILL.md`, 'x'],
      ]),
      await callers.create({ name: written, files: others.map((path) => ({ path, content: 'x' })) }),
    ];
    for (const answer of answers) {
      expect([answer.body.detail, answer.status]).toEqual([undefined, 201]);
      expect(await pathsOf(answer)).toEqual(['.hidden', 'SKILL.md', 'docs/_a', 'docs/a._b', 'docs/a.md']);
    }
  });

  it('may start every path with ./', async () => {
    const [zipped, formed] = [newName(), newName()];
    const answers = [
      await callers.upload(
        zipOf([
          { name: './', content: '', mode: 0o040755 },
          { name: `./${zipped}/SKILL.md`, content: skillMd(zipped) },
          file(`./././${zipped}/a`),
        ]),
      ),
      await callers.uploadForm([
        ['./SKILL.md', skillMd(formed)],
        ['././a', 'x'],
      ]),
    ];
    expect(answers.map(({ status, body }) => [status, body.file_count])).toEqual([
      [201, 2],
      [201, 2],
    ]);
    const refused = await callers.uploadForm([
      ['./SKILL.md', skillMd(newName())],
      ['a/./b', 'x'],
    ]);
    expect([refused.status, refused.body.detail]).toEqual([
      400,
      expect.stringMatching(/leave the directory/),
    ]);
  });
});
