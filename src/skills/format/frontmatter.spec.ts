import { SkillMd } from './skill-md';
import type { SkillMembers } from './skill-members';

const read = (frontmatter: string): SkillMd =>
  SkillMd.read(Buffer.from(`---\nname: a\ndescription: d\n${frontmatter}---\n`));

const lines = (count: number, line: string): string => line.repeat(count);

describe('the frontmatter of a SKILL.md', () => {
  it.each([
    ['another document', 'a: 1\n...\nb: 2\n', /more than one document/],
    ['another document behind a mark', 'a: 1\n--- # more\nb: 2\n', /more than one document/],
    ['a name that is an alias', 'x: &n name\n*n : evil\n', /a name that is an alias/],
    ['a name that is a list', 'x: {[a]: b}\n', /a name that is an alias, a list/],
    ['an alias of nothing', 'x: *none\n', /an alias of "none"/],
    ['an alias of what comes later', 'x: *y\nz: &y 1\n', /an alias of "y"/],
    ['101 aliases that nobody reads', `x: &a 1\ny: [${lines(101, '*a,')}]\n`, /at most 100 aliases/],
    [
      'aliases that stand for aliases',
      `a: &a [1]\nb: &b [${lines(11, '*a,')}]\nmetadata: {x: [${lines(10, '*b,')}]}\n`,
      /at most 100 aliases/,
    ],
    ['1,001 comments', lines(1001, '# c\n'), /at most 1000 comments/],
    ['8,000 tokens', `x: [${lines(4000, '1,')}]\n`, /too many values/],
    ['20,000 blank lines', lines(20_000, '\n'), /too many values/],
    ['a set', 'metadata: {x: !!set {a, b}}\n', /metadata without a JSON form/],
    ['binary data', 'metadata: {x: !!binary aGk=}\n', /metadata without a JSON form/],
    ['a time', 'metadata: {x: !!timestamp 2020-01-01}\n', /metadata without a JSON form/],
    ['an ordered mapping', 'metadata: {x: !!omap [a: 1]}\n', /metadata without a JSON form/],
    ['pairs', 'metadata: {x: !!pairs [a: 1]}\n', /metadata without a JSON form/],
    ['a license that is a set', 'license: !!set {a}\n', /license without a JSON form/],
    ['a license that is an integer', 'license: 2\n', /license .* must be a string. Put it in quotes/],
    ['a license that is a fraction', 'license: 2.0\n', /license .* must be a string. Put it in quotes/],
    ['a license with an exponent', 'license: 1e3\n', /license .* must be a string. Put it in quotes/],
    ['a license that is hexadecimal', 'license: 0x10\n', /license .* must be a string. Put it in quotes/],
    ['a license that is no number', 'license: .nan\n', /license .* must be a string. Put it in quotes/],
    ['tools that are fractions', 'allowed-tools: [1.0]\n', /list of strings/],
  ])('is refused with %s', (_, frontmatter, told) => {
    expect(() => read(frontmatter)).toThrow(told);
  });

  it('may end with a mark, have aliases as values, and signs within texts', () => {
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
    const after = before.edited({ ...before.members, ...change });
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
  ])('has a number of metadata edited from %s into %j, with its comment', (before, value, written) => {
    const frontmatter = (number: string) => `metadata:\n  # which one\n  v: ${number} # of many\n  w: 1.0\n`;
    expect(edited(frontmatter(before), { metadata: { v: value, w: '1.0' } })).toBe(
      `name: a\ndescription: d\n${before === '[1]' ? frontmatter(written).replace(' # of many', '') : frontmatter(written)}`,
    );
  });

  it('has metadata edited whose names are no texts in YAML', () => {
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
    ['a text', 'license: &l MIT\nx: [*l]\n', { license: 'ISC' }],
    ['a text that goes away', 'license: &l MIT\nx: [*l]\n', { license: null }],
    ['a text that another takes the name of', 'y: &l b\nlicense: &l MIT\nx: *l\n', { license: 'ISC' }],
    ['a name', '&k license: MIT\nx: *k\n', { license: null }],
    ['a value of the metadata', 'metadata: {a: &v 1, b: *v}\n', { metadata: { a: 2, b: 1 } }],
    ['what lies in a value of the metadata', 'metadata: {a: [&v 1]}\nx: *v\n', { metadata: { a: 2 } }],
    ['the metadata', 'metadata: &m {a: 1}\nx: *m\n', { metadata: { a: 1, b: 2 } }],
    ['the metadata, of which a member goes', 'metadata: &m {a: 1, b: 2}\nx: *m\n', { metadata: { a: 1 } }],
  ];
  it('is read of as many values as it may be laid out anew with', () => {
    const frontmatter = `x: [${lines(3980, '1,')}]\n`;
    expect(edited(frontmatter, { license: 'MIT' })).toMatch(/\nlicense: MIT\n$/);
  });

  it.each(anchored)('is not edited where an alias elsewhere stands for %s', (_, frontmatter, change) => {
    const { members } = read(frontmatter);
    expect(() => read(frontmatter).edited({ ...members, ...change })).toThrow(/because of its anchors/);
  });

  it('is edited beside anchors and aliases, and in their place', () => {
    expect(edited('x: &l MIT\nlicense: *l # same\ny: *l\n', { license: 'ISC' })).toBe(
      'name: a\ndescription: d\nx: &l MIT\nlicense: ISC # same\ny: *l\n',
    );
    expect(edited('metadata: {a: &v 1, b: *v, c: 2}\n', { metadata: { a: 1, b: 1, c: 3 } })).toBe(
      'name: a\ndescription: d\nmetadata: {a: &v 1, b: *v, c: 3}\n',
    );
    expect(edited('license: &l MIT\n', { license: 'ISC' })).toBe('name: a\ndescription: d\nlicense: ISC\n');
  });
});
