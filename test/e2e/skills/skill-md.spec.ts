import { sharedApp } from '#testing';
import { SkillCallers } from './skills.fixture';

const named = (name: string, more = ''): string => `---\nname: ${name}\ndescription: d\n${more}---\n`;

const keys = (count: number): string => Array.from({ length: count }, (_, i) => `k${i}`).join();

/** Each level refers to the previous one nine times: 9^9 values in a few hundred bytes. */
const laughs = Array.from(
  { length: 9 },
  (_, i) =>
    `  l${i}: &l${i} [${Array(9)
      .fill(i === 0 ? 'ha' : `*l${i - 1}`)
      .join(',')}]\n`,
).join('');

describe('a SKILL.md', () => {
  const app = sharedApp();
  let callers: SkillCallers;

  beforeAll(async () => {
    callers = await SkillCallers.of(app);
  });

  const upload = (text: string | Buffer) => callers.uploadForm([['SKILL.md', text]]);

  it.each([
    ['without frontmatter', '# Hello', /begin with a line `---`/],
    ['that is empty', '', /begin with a line `---`/],
    ['whose frontmatter has no end', '---\nname: a\ndescription: d\n', /must end with a line of ---/],
    [
      'whose frontmatter is longer than 64 KiB',
      named('a', `x: ${'y'.repeat(66_000)}\n`),
      /must end with a line of --- within 64 KiB/,
    ],
    ['that is not UTF-8', Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xe9]), /UTF-8/],
    ['with a NUL character', `${named('a')}\0`, /NUL/],
    ['with an escaped NUL character', named('a', 'license: "a\\0b"\n'), /NUL/],
    ['with an unpaired surrogate', named('a', 'license: "\\uD800"\n'), /unpaired surrogate/],
    ['larger than 1 MiB', named('a') + 'x'.repeat(1024 * 1024), /1 MiB/],
    ['that is not a mapping', '---\n- a\n---\n', /must be a mapping of names/],
    ['that is not YAML', '---\nname: [a\n---\n', /not valid YAML/],
    ['with a member twice', named('a', 'name: b\n'), /"name" twice/],
    ['with a duplicate name in an unknown member', named('a', 'x:\n  - {y: 1, "y": 2}\n'), /"y" twice/],
    ['with 3,100 names', named('a', `x: {${keys(3100)}}\n`), /at most 3000 names/],
    [
      'with 3,038 names in many mappings',
      named('a', `x: [${`{${keys(49)}},`.repeat(62)}]\n`),
      /at most 3000 names/,
    ],
    ['with a second document', named('a', 'x: y\n...\nz: lost\n'), /more than one document/],
    ['with a name that is an alias', named('a', 'x: &n name\n*n : evil\n'), /a name that is an alias/],
    ['with 5,000 aliases', named('a', `x: &a 1\ny: [${'*a,'.repeat(5000)}]\n`), /at most 100 aliases/],
    ['with 5,000 comments', named('a', '# c\n'.repeat(5000)), /at most 1000 comments/],
    ['with binary data', named('a', 'metadata: {x: !!binary aGk=}\n'), /that JSON cannot represent/],
    ['with a license that is a fraction', named('a', 'license: 2.0\n'), /must be a string. Put it in quotes/],
    ['with a custom tag', named('a', 'x: !!js/function a\n'), /not valid YAML/],
    [
      'with a colon in a text',
      '---\nname: a\ndescription: Use when: x\n---\n',
      /line 3\. Put the value of `description` in quotes: `description: "Use when: x"`\.$/,
    ],
    [
      'with `allowed_tools`',
      named('a', 'allowed_tools: Read\n'),
      /"allowed_tools"\. Write it as `allowed-tools`\.$/,
    ],
    ['without a name', '---\ndescription: d\n---\n', /`name` .* is required/],
    ['without a description', '---\nname: a\n---\n', /`description` .* is required/],
    ['with a name in upper case', named('My-Skill'), /lower-case/],
    ['with a name of underscores', named('my_skill'), /lower-case/],
    ['with a name with a slash', named('my/skill'), /lower-case/],
    ['with a name of 65 characters', named('a'.repeat(65)), /at most 64/],
    ['with a name that is a number', named('123'), /must be a string/],
    [
      'with a description of 1,025 characters',
      `---\nname: a\ndescription: ${'x'.repeat(1025)}\n---\n`,
      /at most 1024/,
    ],
    ['with a description that is a list', '---\nname: a\ndescription: [d]\n---\n', /must be a string/],
    [
      'with a compatibility of 501 characters',
      named('a', `compatibility: ${'x'.repeat(501)}\n`),
      /at most 500/,
    ],
    ['with tools that are not strings', named('a', 'allowed-tools: [1]\n'), /list of strings/],
    ['with metadata that is a string', named('a', 'metadata: x\n'), /must be a mapping/],
    ['with metadata over 16 KiB', named('a', `metadata: {x: ${'y'.repeat(17_000)}}\n`), /16 KiB/],
    [
      'with aliases that expand to a billion values',
      named('a', `metadata:\n${laughs}`),
      /too many values|aliases/,
    ],
    [
      'with aliases of a long list',
      named('a', `metadata:\n  a: &a [${'1,'.repeat(2000)}]\n  b: [${'*a,'.repeat(20)}]\n`),
      /too many values/,
    ],
    [
      'with an alias within itself',
      named('a', 'metadata: &m {x: *m}\n'),
      /nested too deeply|aliases|not YAML/,
    ],
    ['nested in 60,000 lists', named('a', `metadata: ${'['.repeat(60_000)}\n`), /nested too deeply/],
    ['nested in mappings', named('a', `metadata: ${'{a: '.repeat(15_000)}\n`), /nested too deeply/],
    ['nested in block lists', named('a', `metadata:\n ${'- '.repeat(30_000)}\n`), /nested too deeply/],
    [
      'with 6,000 members',
      named('a', Array.from({ length: 6000 }, (_, i) => `k${i}: 1\n`).join('')),
      /too many values/,
    ],
  ])('%s is rejected with the reason', async (_, text, detail) => {
    const answer = await upload(text);
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    expect(answer.body.detail).toMatch(detail);
  });

  it('is read with all common line ends, quotes and lists', async () => {
    const text =
      '\uFEFF---  \r\nname: windows-1\r\ndescription: |\r\n  Two\r\n  lines\r\nallowed-tools: "Bash(git add:*), Read, Bash(x y)"\r\n' +
      'metadata:\r\n  version: 1.10\r\n  number: 3\r\n  on: yes\r\n  __proto__: p\r\nhidden: true\r\n--- \r\n\r\nBody\r\n---\r\nmore';
    const { status, body } = await upload(text);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      name: 'windows-1',
      description: 'Two\nlines\n',
      allowed_tools: ['Bash(git add:*)', 'Read', 'Bash(x y)'],
      instructions: 'Body\r\n---\r\nmore',
    });
    expect(JSON.stringify(body.metadata)).toBe('{"version":"1.10","number":3,"on":"yes","__proto__":"p"}');
    const listed = await upload(
      named('listed', 'allowed-tools:\n  - Read\n  - Bash(git status)\nlicense:\n'),
    );
    expect(listed.body).toMatchObject({
      allowed_tools: ['Read', 'Bash(git status)'],
      license: null,
      instructions: '',
    });
  });

  it('keeps line ends, byte order mark and formatting when edited', async () => {
    const text = '\uFEFF---\r\nname: windows-2\r\ndescription: d\r\n---\r\nBody';
    const { headers } = await upload(text);
    const edited = await callers.editor.patch(headers.get('location')!, {
      license: 'MIT',
      instructions: 'New',
    });
    const { size_bytes } = edited.body;
    const expected = '\uFEFF---\r\nname: windows-2\r\ndescription: d\r\nlicense: MIT\r\n---\r\n\r\nNew';
    expect(size_bytes).toBe(Buffer.byteLength(expected));
  });

  it('can be read and edited with nearly the maximum number of names', async () => {
    const { status, headers } = await upload(named('many-names', `x: {${keys(2_900)}}\n`));
    expect(status).toBe(201);
    const edited = await callers.editor.patch(headers.get('location')!, { license: 'MIT' });
    expect([edited.status, edited.body.version_ordinal]).toEqual([200, 2]);
  });

  it('supports numbers as metadata values and names', async () => {
    const { headers } = await upload(named('numbered', 'metadata: {version: 1.10, 2024: x, true: y}\n'));
    const edited = await callers.editor.patch(headers.get('location')!, {
      metadata: { version: 2, 2024: null, true: 'z' },
    });
    expect([edited.status, edited.body.metadata]).toEqual([200, { version: 2, true: 'z' }]);
  });

  it('returns 400 if it was stored under earlier rules and cannot be edited', async () => {
    const { body, headers } = await upload(named('of-old', 'x: &n y\nz: of-old\n'));
    await app.database.query(
      `UPDATE skill_blobs SET data = convert_to(replace(convert_from(data, 'UTF8'), 'z:', '*n :'), 'UTF8')
       WHERE sha256 IN (SELECT sha256 FROM skill_files WHERE skill_id = $1)`,
      [body.skill_id],
    );
    const edited = await callers.editor.patch(headers.get('location')!, { license: 'MIT' });
    expect([edited.status, edited.body.detail]).toEqual([
      400,
      expect.stringMatching(/name that is an alias/),
    ]);
    expect((await callers.editor.get(headers.get('location')!)).body).toEqual(body);
  });

  it('is not corrupted by edits if it has anchors', async () => {
    const { headers } = await upload(named('anchored', 'license: &l MIT\nother: *l\n'));
    const edited = await callers.editor.patch(headers.get('location')!, { license: null });
    expect([edited.status, edited.body.code]).toEqual([400, 'invalid_request']);
    expect(edited.body.detail).toMatch(/anchors/);
    expect((await callers.editor.get(headers.get('location')!)).body).toMatchObject({
      license: 'MIT',
      version_ordinal: 1,
    });
  });
});
