import { deflateRawSync } from 'node:zlib';
import { sharedApp } from '#testing';
import { SkillCallers, skillMd } from './skills.fixture';
import { type RawEntry, zipOf } from './zip.fixture';

const MIB = 1024 * 1024;

let made = 0;
const skill = (): RawEntry => ({ name: 'SKILL.md', content: skillMd(`hostile-${(made += 1)}`) });
const file = (name: string, more: Partial<RawEntry> = {}): RawEntry => ({ name, content: 'x', ...more });

const whole = (): Buffer => zipOf([skill(), file('scripts/run.sh')]);

describe('an uploaded archive', () => {
  const app = sharedApp();
  let callers: SkillCallers;

  beforeAll(async () => {
    callers = await SkillCallers.of(app);
  });

  const bomb = deflateRawSync(Buffer.alloc(33 * MIB));
  const archives: [string, () => Buffer, RegExp][] = [
    ['with a path to a parent', () => zipOf([skill(), file('../evil')]), /leave the directory/],
    ['with a path to a parent inside', () => zipOf([skill(), file('a/../../evil')]), /leave the directory/],
    ['with a single dot inside a path', () => zipOf([skill(), file('a/./b')]), /leave the directory/],
    ['with a path to a parent after a dot', () => zipOf([skill(), file('./../b')]), /leave the directory/],
    ['with an absolute path after a dot', () => zipOf([skill(), file('.//etc/passwd')]), /relative/],
    ['with a path to a parent on Windows', () => zipOf([skill(), file('.. /.. /evil')]), /dot or a space/],
    [
      'with an alternate stream on Windows',
      () => zipOf([skill(), file('SKILL.md::$DATA')]),
      /must not contain any of/,
    ],
    ['with a device name on Windows', () => zipOf([skill(), file('a/aux.txt')]), /Windows device/],
    ['with an absolute path', () => zipOf([skill(), file('/etc/passwd')]), /relative/],
    ['with a drive', () => zipOf([skill(), file('C:/evil')]), /drive/],
    ['with a backslash', () => zipOf([skill(), file('..\\evil')]), /backslash/],
    ['with a NUL in a path', () => zipOf([skill(), file('a\0.md')]), /control/],
    ['with a line break in a path', () => zipOf([skill(), file('a\nb')]), /control/],
    ['with an empty name', () => zipOf([skill(), file('a//b')]), /empty name/],
    [
      'with a file in 64 directories',
      () => zipOf([skill(), file(`${'d/'.repeat(64)}x`)]),
      /at most 64 names/,
    ],
    ['with an empty path', () => zipOf([skill(), file('')]), /empty/],
    ['with a path of 1,100 bytes', () => zipOf([skill(), file(`${'ä/'.repeat(366)}xx`)]), /1024 bytes/],
    ['with a name of 256 bytes', () => zipOf([skill(), file('x'.repeat(256))]), /255 bytes/],
    [
      'with a path that is not UTF-8',
      () => zipOf([skill(), { ...file(''), name: Buffer.from([0x61, 0xe9]) }]),
      /UTF-8/,
    ],
    [
      'with a symbolic link',
      () => zipOf([skill(), file('link', { mode: 0o120777, content: '/etc' })]),
      /link/,
    ],
    ['with a device', () => zipOf([skill(), file('null', { mode: 0o020666 })]), /device/],
    ['with a file that is a directory', () => zipOf([skill(), file('dir', { mode: 0o040755 })]), /device/],
    [
      'with an encrypted file',
      () => zipOf([skill(), file('secret', { flags: 0x801, method: 8 })]),
      /encrypted/,
    ],
    [
      'with strong encryption',
      () => zipOf([skill(), file('secret', { flags: 0x841 })]),
      /not a valid zip archive/,
    ],
    ['with an unsupported compression', () => zipOf([skill(), file('a', { method: 12 })]), /deflate/],
    ['with a path twice', () => zipOf([skill(), file('a'), file('a')]), /twice/],
    [
      'with paths that differ only in case',
      () => zipOf([skill(), file('Read.md'), file('READ.md')]),
      /are the same on file systems/,
    ],
    [
      'with paths that differ only in normalization',
      () => zipOf([skill(), file('\u00e4.md'), file('a\u0308.md')]),
      /are the same on file systems/,
    ],
    [
      'with paths equal when folded',
      () => zipOf([skill(), file('Straße'), file('STRASSE')]),
      /are the same on file systems/,
    ],
    ['with a file in a file', () => zipOf([skill(), file('a'), file('a/b')]), /is a file/],
    ['with a file in a file, in different case', () => zipOf([skill(), file('A/b'), file('a')]), /is a file/],
    [
      'with two SKILL.md in different case',
      () => zipOf([skill(), file('skill.md')]),
      /are the same on file systems/,
    ],
    ['without SKILL.md', () => zipOf([file('README.md')]), /no SKILL\.md/],
    ['with skill.md in lower case only', () => zipOf([{ ...skill(), name: 'skill.md' }]), /no SKILL\.md/],
    [
      'with SKILL.md too deep',
      () => zipOf([file('a/b/x'), { ...skill(), name: 'a/c/SKILL.md' }]),
      /no SKILL\.md/,
    ],
    ['that is empty', () => zipOf([]), /no SKILL\.md/],
    [
      'with 1,001 files',
      () => zipOf([skill(), ...Array.from({ length: 1000 }, (_, i) => file(`f/${i}`))]),
      /at most 1000 files/,
    ],
    [
      'with 6,000 directories',
      () => zipOf([skill(), ...Array.from({ length: 6000 }, (_, i) => file(`f${i}/`, { content: '' }))]),
      /at most 1000 files/,
    ],
    [
      'that declares too large a size',
      () => zipOf([skill(), file('bomb', { method: 8, packed: bomb, size: 33 * MIB })]),
      /at most 32 MiB/,
    ],
    [
      'with files that are too large together',
      () =>
        zipOf([
          skill(),
          ...[1, 2, 3].map((i) => file(`${i}`, { method: 8, content: Buffer.alloc(11 * MIB) })),
        ]),
      /at most 32 MiB/,
    ],
    [
      'that inflates to more than it declares',
      () => zipOf([skill(), file('bomb', { method: 8, packed: bomb, size: 1 })]),
      /damaged/,
    ],
    [
      'that inflates to less than it declares',
      () => zipOf([skill(), file('a', { method: 8, packed: deflateRawSync(Buffer.from('x')), size: 2 })]),
      /damaged/,
    ],
    ['whose stored sizes differ', () => zipOf([skill(), file('a', { size: 2 })]), /not a valid zip archive/],
    ['with a wrong checksum', () => zipOf([skill(), file('a', { crc: 1 })]), /damaged/],
    [
      'with invalid deflate data',
      () => zipOf([skill(), file('a', { method: 8, packed: Buffer.from('zzz') })]),
      /damaged/,
    ],
    ['that is truncated', () => whole().subarray(0, -30), /not a valid zip archive/],
    ['that lacks its beginning', () => whole().subarray(20), /not a valid zip archive/],
    [
      'with bytes after its end',
      () => Buffer.concat([whole(), Buffer.from('xx')]),
      /not a valid zip archive/,
    ],
    ['that is not an archive', () => Buffer.from('SKILL.md'), /not a valid zip archive/],
    ['that has no bytes', () => Buffer.alloc(0), /not a valid zip archive/],
  ];

  it.each(archives)('%s is rejected with the reason', async (_, zip, detail) => {
    const answer = await callers.upload(zip());
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    expect(answer.body.detail).toMatch(detail);
  });

  it('returns 413 over the upload limit', async () => {
    const answer = await callers.upload(Buffer.alloc(36 * MIB + 1));
    expect([answer.status, answer.body.code]).toEqual([413, 'payload_too_large']);
  });

  it('leaves nothing behind if it is rejected', async () => {
    const counts = () =>
      app.database.query(
        `SELECT (SELECT count(*) FROM skills) AS skills, (SELECT count(*) FROM skill_versions) AS versions,
           (SELECT count(*) FROM skill_files) AS files, (SELECT count(*) FROM skill_blobs) AS blobs`,
      );
    const entry = skill();
    const { headers } = await callers.upload(zipOf([entry]));
    const before = await counts();
    const damaged = (one: RawEntry) =>
      zipOf([one, file('whole', { content: 'whole' }), file('a', { crc: 1 })]);
    const answers = [
      await callers.upload(damaged(skill())),
      await callers.upload(damaged(entry), `${headers.get('location')}/versions`),
      await callers.upload(zipOf([entry, file('other', { content: 'of a name that is taken' })])),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 409]);
    expect(await counts()).toEqual(before);
  });

  it('may contain system files and directories, which are ignored', async () => {
    const zip = zipOf([
      file('my-skill/', { content: '', mode: 0o040755 }),
      { name: 'my-skill/SKILL.md', content: skillMd('with-leavings'), method: 8, mode: 0o100600 },
      file('my-skill/.DS_Store'),
      file('__MACOSX/._my-skill'),
      file('__MACOSX/my-skill/._SKILL.md'),
      file('my-skill/assets/.DS_Store'),
      file('my-skill/assets/empty', { content: '' }),
    ]);
    const answer = await callers.upload(zip);
    expect(answer.body).toMatchObject({ name: 'with-leavings', file_count: 2 });
  });
});
