import { SkillMd } from './skill-md';
import { SkillFault } from './skill.fault';

/** Returns why the lines after `name: a`, which is the second line of the file, are rejected. */
function faultOf(lines: string): string {
  try {
    SkillMd.read(Buffer.from(`---\nname: a\n${lines}\n---\n\nbody`), true);
  } catch (error) {
    if (error instanceof SkillFault) return error.detail;
    throw error;
  }
  return 'accepted';
}

describe('a frontmatter that is not valid', () => {
  it.each([
    ['description: Use when: x', 'line 3', 'description: "Use when: x"'],
    ['description: Use when: x\r\nlicense: b\r', 'line 3', 'description: "Use when: x"'],
    ['description: d\nlicense: see: LICENSE', 'line 4', 'license: "see: LICENSE"'],
    ['description: d\nmetadata:\n  when: use: x', 'line 5', 'when: "use: x"'],
    ['description: "foo" bar', 'line 3', 'description: "\\"foo\\" bar"'],
    ["description: 'It's here'", 'line 3', 'description: "It\'s here"'],
    ['description: "C:\\path"', 'line 3', 'description: "C:\\\\path"'],
    ['description: "unclosed\nlicense: b', 'line 3', 'description: "\\"unclosed"'],
    ['description: @foo', 'line 3', 'description: "@foo"'],
    ['description: `foo` bar', 'line 3', 'description: "`foo` bar"'],
    ['description: *bold* text', 'line 3', 'description: "*bold* text"'],
    ['description: %d files', 'line 3', 'description: "%d files"'],
    ['description: - foo', 'line 3', 'description: "- foo"'],
    ['description: {{name}} of a person', 'line 3', 'description: "{{name}} of a person"'],
    ['description: #1 of tools', '`description`', 'description: "#1 of tools"'],
  ])('names the line and what to quote: %j', (lines, place, advice) => {
    const detail = faultOf(lines);
    expect(detail).toContain(place);
    expect(detail).toMatch(/in quotes: `.*`\.$/);
    expect(detail).toContain(`: \`${advice}\`.`);
  });

  it.each([
    ['\tdescription: foo', /in line 3\. Indent with spaces\.$/],
    [
      'description: one\ntwo three\nlicense: b',
      /in line 4\. Indent the line if it continues the value above/,
    ],
    ['description: foo\n  license: b', /in line 3\. Indent the line after it like the others\.$/],
    ['description:foo', /in line 3\. Put a space after the colon\.$/],
    ['description: [a\nlicense: b', /in line 4\.$/],
    ['description: | text\n more', /in line 3\.$/],
    ['description: {{name}}', /in line 3\. Write it as a string/],
    ['description: *bold*', /in line 3\. If it is a text, put it in quotes\.$/],
    ['description: d\ndescription: e', /"description" twice in a mapping, in line 4\.$/],
    [`description: Use when: ${'x'.repeat(9_000)}`, /`description: "Use when: x{70}…"`\.$/],
  ])('names the line and the remedy: %j', (lines, detail) => {
    expect(faultOf(lines)).toMatch(detail);
  });

  it.each([
    ['allowed_tools: Read', 'allowed-tools'],
    ['allowedTools: Read', 'allowed-tools'],
    ['Allowed-Tools: Read', 'allowed-tools'],
    ['allowed tools: Read', 'allowed-tools'],
    ['allowed-tool: Read', 'allowed-tools'],
    ['allowed-tools: Read\nallowed_tools: Bash', 'allowed-tools'],
    ['Name: b', 'name'],
    ['LICENSE: MIT', 'license'],
    ['licence: MIT', 'license'],
    ['compatability: x', 'compatibility'],
    ['Metadata: {}', 'metadata'],
  ])('names the member of another spelling: %j', (lines, known) => {
    const [name] = lines.split('\n').at(-1)!.split(':');
    expect(faultOf(`description: d\n${lines}`)).toBe(
      `The frontmatter of SKILL.md has the name "${name}". Write it as \`${known}\`.`,
    );
  });

  it('may have members that other programs define', () => {
    const lines = [
      'model: x',
      'version: 1',
      'tools: Read',
      'names: b',
      'x-license: b',
      `${'k'.repeat(500)}: 1`,
    ];
    expect(faultOf(['description: d', ...lines].join('\n'))).toBe('accepted');
  });
});
