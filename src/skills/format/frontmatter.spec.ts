import { SkillMd } from './skill-md';
import type { SkillMembers } from './skill-members';

const read = (frontmatter: string): SkillMd =>
  SkillMd.read(Buffer.from(`---\nname: a\ndescription: d\n${frontmatter}---\n`));

const lines = (count: number, line: string): string => line.repeat(count);

describe('the frontmatter of a SKILL.md', () => {
  it.each([
    ['another document', 'a: 1\n...\nb: 2\n', /more than one document/],
    ['another document after a marker', 'a: 1\n--- # more\nb: 2\n', /more than one document/],
    ['a name that is an alias', 'x: &n name\n*n : evil\n', /a name that is an alias/],
    ['a name that is a list', 'x: {[a]: b}\n', /a name that is an alias, a list/],
    ['an alias without an anchor', 'x: *none\n', /the alias "none" without an earlier anchor/],
    ['an alias before its anchor', 'x: *y\nz: &y 1\n', /the alias "y" without an earlier anchor/],
    ['101 aliases in an unknown member', `x: &a 1\ny: [${lines(101, '*a,')}]\n`, /at most 100 aliases/],
    [
      'aliases of aliases',
      `a: &a [1]\nb: &b [${lines(11, '*a,')}]\nmetadata: {x: [${lines(10, '*b,')}]}\n`,
      /at most 100 aliases/,
    ],
    ['1,001 comments', lines(1001, '# c\n'), /at most 1000 comments/],
    ['8,000 tokens', `x: [${lines(4000, '1,')}]\n`, /too many values/],
    ['20,000 blank lines', lines(20_000, '\n'), /too many values/],
    ['a set', 'metadata: {x: !!set {a, b}}\n', /metadata that JSON cannot represent/],
    ['binary data', 'metadata: {x: !!binary aGk=}\n', /metadata that JSON cannot represent/],
    ['a time', 'metadata: {x: !!timestamp 2020-01-01}\n', /metadata that JSON cannot represent/],
    ['an ordered mapping', 'metadata: {x: !!omap [a: 1]}\n', /metadata that JSON cannot represent/],
    ['pairs', 'metadata: {x: !!pairs [a: 1]}\n', /metadata that JSON cannot represent/],
    ['a license that is a set', 'license: !!set {a}\n', /license that JSON cannot represent/],
    ['a license that is an integer', 'license: 2\n', /`license` .* must be a string. Put it in quotes/],
    ['a license that is a fraction', 'license: 2.0\n', /`license` .* must be a string. Put it in quotes/],
    ['a license with an exponent', 'license: 1e3\n', /`license` .* must be a string. Put it in quotes/],
    ['a license that is hexadecimal', 'license: 0x10\n', /`license` .* must be a string. Put it in quotes/],
    ['a license that is not a number', 'license: .nan\n', /`license` .* must be a string. Put it in quotes/],
    ['tools that are fractions', 'allowed-tools: [1.0]\n', /list of strings/],
  ])('is rejected with %s', (_, frontmatter, message) => {
    expect(() => read(frontmatter)).toThrow(message);
  });

  it('may end with a document marker, and contain aliases as values and YAML indicators in strings', () => {
    const many = lines(1100, '  # no comment\n  *no alias\n');
    const frontmatter = `x: |\n${many}metadata: {a: &v [1, ~], b: *v, c: , ? d, 1.10: 1.10, ~: ~}\n...\n# the end\n`;
    expect(read(frontmatter).members.metadata).toEqual({
      a: [1, null],
      b: [1, null],
      c: null,
      d: null,
      '1.10': '1.10',
      '~': null,
    });
  });

  const edited = (frontmatter: string, change: Partial<SkillMembers>): string => {
    const before = read(frontmatter);
    const after = before.edit({ ...before.members, ...change });
    expect(after.members).toEqual({ ...before.members, ...change });
    return after.bytes.toString().slice('---\n'.length, -'---\n'.length);
  };

  it.each([
    ['1.0', 2, '2'],
    ['1.10', 2, '2'],
    ['0x1F', 32, '32'],
    ['1e3', 2, '2'],
    ['!!str 12', 13, '13'],
    ['!!str 12', '13', '"13"'],
    ['"1.0"', '1.1', '"1.1"'],
    ['1.0', '1.1', '"1.1"'],
    ["'x'", 'y', "'y'"],
    ['[1]', { a: '1.0' }, '{a: "1.0"}'],
  ])('changes a metadata value from %s to %j and keeps its comment', (before, value, written) => {
    const frontmatter = (number: string) => `metadata:\n  # which one\n  v: ${number} # of many\n  w: 1.0\n`;
    expect(edited(frontmatter(before), { metadata: { v: value, w: '1.0' } })).toBe(
      `name: a\ndescription: d\n${before === '[1]' ? frontmatter(written).replace(' # of many', '') : frontmatter(written)}`,
    );
  });

  it('edits metadata whose names are not strings in YAML', () => {
    const frontmatter = 'metadata:\n  2024: x # year\n  true: y\n  ~: z\n  0x1: w\n';
    expect(
      edited(frontmatter, { metadata: { '2024': 'n', true: 'y', '~': null, '1': 'v', '0x1': 'w' } }),
    ).toBe(
      'name: a\ndescription: d\nmetadata:\n  2024: n # year\n  true: y\n  ~: null\n  0x1: w\n  "1": v\n',
    );
    expect(edited(frontmatter, { metadata: { '0x1': 'w' } })).toBe(
      'name: a\ndescription: d\nmetadata:\n  0x1: w\n',
    );
  });

  const anchored: [string, string, Partial<SkillMembers>][] = [
    ['a string', 'license: &l MIT\nx: [*l]\n', { license: 'ISC' }],
    ['a string that is removed', 'license: &l MIT\nx: [*l]\n', { license: null }],
    ['a string whose anchor name is used twice', 'y: &l b\nlicense: &l MIT\nx: *l\n', { license: 'ISC' }],
    ['a name', '&k license: MIT\nx: *k\n', { license: null }],
    ['a metadata value', 'metadata: {a: &v 1, b: *v}\n', { metadata: { a: 2, b: 1 } }],
    ['a part of a metadata value', 'metadata: {a: [&v 1]}\nx: *v\n', { metadata: { a: 2 } }],
    ['the metadata', 'metadata: &m {a: 1}\nx: *m\n', { metadata: { a: 1, b: 2 } }],
    ['the metadata, whose member is removed', 'metadata: &m {a: 1, b: 2}\nx: *m\n', { metadata: { a: 1 } }],
  ];
  it('can be edited with nearly the maximum number of values', () => {
    const frontmatter = `x: [${lines(3980, '1,')}]\n`;
    expect(edited(frontmatter, { license: 'MIT' })).toMatch(/\nlicense: MIT\n$/);
  });

  it.each(anchored)('cannot be edited if an alias elsewhere refers to %s', (_, frontmatter, change) => {
    const { members } = read(frontmatter);
    expect(() => read(frontmatter).edit({ ...members, ...change })).toThrow(/because of its anchors/);
  });

  it('can be edited next to anchors and aliases, and in place of them', () => {
    expect(edited('x: &l MIT\nlicense: *l # same\ny: *l\n', { license: 'ISC' })).toBe(
      'name: a\ndescription: d\nx: &l MIT\nlicense: ISC # same\ny: *l\n',
    );
    expect(edited('metadata: {a: &v 1, b: *v, c: 2}\n', { metadata: { a: 1, b: 1, c: 3 } })).toBe(
      'name: a\ndescription: d\nmetadata: {a: &v 1, b: *v, c: 3}\n',
    );
    expect(edited('license: &l MIT\n', { license: 'ISC' })).toBe('name: a\ndescription: d\nlicense: ISC\n');
  });
});
