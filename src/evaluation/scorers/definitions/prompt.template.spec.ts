import { parsePrompt } from './prompt.template';

const shape = (text: string): unknown => JSON.parse(JSON.stringify(parsePrompt(text)));
const variable = (...steps: (string | number)[]) => ({
  kind: 'variable',
  path: { steps, isAbsolute: false },
});

describe('the template of a prompt', () => {
  it.each([
    ['two braces', 'Is {{output}}?', ['Is ', variable('output'), '?']],
    ['three braces, which mean the same', '{{{ output }}}', [variable('output')]],
    ['an ampersand, which means the same', '{{& output}}', [variable('output')]],
    ['a path', "{{metadata.items[0]['a b'].c-d[-1]}}", [variable('metadata', 'items', 0, 'a b', 'c-d', -1)]],
    ['a comment', 'a{{! input }}b', ['a', 'b']],
    ['other delimiters', '{{=<% %>=}}<% input %>{{input}}', [variable('input'), '{{input}}']],
  ])('takes %s', (_, template, parts) => {
    const expected = parts.map((part) => (typeof part === 'string' ? { kind: 'text', text: part } : part));
    expect(shape(template)).toEqual(expected);
  });

  it('keeps sections in sections, and what an inverted one says instead', () => {
    expect(shape('{{#session.traces}}{{trace_id}}{{#$.input}}{{.}}{{/$.input}}{{/session.traces}}')).toEqual([
      {
        ...{ kind: 'section', isInverted: false, path: { steps: ['session', 'traces'], isAbsolute: false } },
        parts: [
          variable('trace_id'),
          {
            ...{ kind: 'section', isInverted: false, path: { steps: ['input'], isAbsolute: true } },
            parts: [variable()],
          },
        ],
      },
    ]);
    expect(shape('{{^expected}}none{{/expected}}')).toMatchObject([
      { isInverted: true, parts: [{ text: 'none' }] },
    ]);
  });

  it.each([
    [
      'a misspelt variable',
      '{{ouput}}',
      /has an unknown variable, \{\{ouput\}\}; the variables are input, output,/,
    ],
    ['one in an inverted section, which gives no names', '{{^expected}}{{ouput}}{{/expected}}', /ouput/],
    [
      'one in an inverted section within another',
      '{{^input}}{{^output}}{{.}}{{/output}}{{/input}}',
      /\{\{\.\}\}/,
    ],
    ['a misspelt variable that begins with $, also in a section', '{{#input}}{{$.ouput}}{{/input}}', /ouput/],
    ['a name that every object has', '{{__proto__}}', /__proto__/],
    ['another', '{{constructor.name}}', /constructor/],
    ['the whole of the variables', '{{.}}', /the variables are/],
    ['the same, absolute', '{{#input}}{{$}}{{/input}}', /the variables are/],
    ['a path that is none', '{{output..text}}', /expected \.name, \['name'\] or \[index\]/],
    ['an index that is none', '{{output[x]}}', /is not a path/],
    ['a path without an end', `{{output${'.a'.repeat(300)}}}`, /at most 500 characters/],
    ['a tag without a name', '{{}}', /is not a path/],
    ['a partial', '{{> other}}', /has a partial, \{\{> other\}\}, and partials are not supported/],
    ['a partial in a section', '{{#input}}{{>../../etc/passwd}}{{/input}}', /partial/],
    ['a tag that does not end', 'Is {{output', /Unclosed tag/],
    ['a section that does not end', '{{#input}}x', /Unclosed section "input"/],
    ['a section that did not begin', 'x{{/input}}', /Unopened section/],
    ['sections that cross', '{{#input}}{{#output}}{{/input}}{{/output}}', /Unclosed section/],
    ['delimiters that are none', '{{=| =}}', /is not a Mustache template/],
    ['sections 17 deep', '{{#input}}'.repeat(17) + '{{/input}}'.repeat(17), /more than 16 deep/],
    ['thousands of them', '{{#input}}'.repeat(5_000) + '{{/input}}'.repeat(5_000), /more than 16 deep/],
    // the library would look for the end of the tag from each of the spaces anew, for many seconds
    ['a tag full of spaces', `{{input${' '.repeat(90_000)}}}`, /more than 1000 characters of whitespace/],
  ])('refuses %s', (_, template, why) => {
    expect(() => parsePrompt(template)).toThrow(SyntaxError);
    expect(() => parsePrompt(template)).toThrow(why);
  });

  it('takes sections as deep as they may be, thousands beside each other, and as much space as anybody needs', () => {
    expect(parsePrompt('{{#input}}'.repeat(16) + '{{/input}}'.repeat(16))).toHaveLength(1);
    expect(parsePrompt('{{#input}}{{/input}}'.repeat(5_000))).toHaveLength(5_000);
    expect(shape(`a${' '.repeat(1_000)}b`)).toEqual([{ kind: 'text', text: `a${' '.repeat(1_000)}b` }]);
  });
});
