import { parsePrompt } from './prompt.template';

const shape = (text: string): unknown => JSON.parse(JSON.stringify(parsePrompt(text)));
const variable = (...steps: (string | number)[]) => ({
  kind: 'variable',
  path: { steps, isAbsolute: false },
});

describe('parsePrompt', () => {
  it.each([
    ['two braces', 'Is {{output}}?', ['Is ', variable('output'), '?']],
    ['three braces, which mean the same', '{{{ output }}}', [variable('output')]],
    ['an ampersand, which means the same', '{{& output}}', [variable('output')]],
    ['a path', "{{metadata.items[0]['a b'].c-d[-1]}}", [variable('metadata', 'items', 0, 'a b', 'c-d', -1)]],
    ['a comment', 'a{{! input }}b', ['a', 'b']],
    ['other delimiters', '{{=<% %>=}}<% input %>{{input}}', [variable('input'), '{{input}}']],
  ])('accepts %s', (_, template, parts) => {
    const expected = parts.map((part) => (typeof part === 'string' ? { kind: 'text', text: part } : part));
    expect(shape(template)).toEqual(expected);
  });

  it('accepts nested and inverted sections', () => {
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
    [
      'a misspelt variable in an inverted section, which defines no variables',
      '{{^expected}}{{ouput}}{{/expected}}',
      /ouput/,
    ],
    [
      'all variables at once, in nested inverted sections',
      '{{^input}}{{^output}}{{.}}{{/output}}{{/input}}',
      /\{\{\.\}\}/,
    ],
    ['a misspelt variable that begins with $, also in a section', '{{#input}}{{$.ouput}}{{/input}}', /ouput/],
    ['a member of Object.prototype', '{{__proto__}}', /__proto__/],
    ['another member of Object.prototype', '{{constructor.name}}', /constructor/],
    ['all variables at once', '{{.}}', /the variables are/],
    ['all variables at once, by an absolute path', '{{#input}}{{$}}{{/input}}', /the variables are/],
    ['an invalid path', '{{output..text}}', /expected \.name, \['name'\] or \[index\]/],
    ['an invalid index', '{{output[x]}}', /is not a path/],
    ['a path above 500 characters', `{{output${'.a'.repeat(300)}}}`, /at most 500 characters/],
    ['a tag without a name', '{{}}', /is not a path/],
    ['a partial', '{{> other}}', /has a partial, \{\{> other\}\}, and partials are not supported/],
    ['a partial in a section', '{{#input}}{{>../../etc/passwd}}{{/input}}', /partial/],
    ['an unclosed tag', 'Is {{output', /Unclosed tag/],
    ['an unclosed section', '{{#input}}x', /Unclosed section "input"/],
    ['an unopened section', 'x{{/input}}', /Unopened section/],
    ['sections that cross', '{{#input}}{{#output}}{{/input}}{{/output}}', /Unclosed section/],
    ['invalid delimiters', '{{=| =}}', /is not a Mustache template/],
    ['sections 17 deep', '{{#input}}'.repeat(17) + '{{/input}}'.repeat(17), /more than 16 deep/],
    ['sections 5,000 deep', '{{#input}}'.repeat(5_000) + '{{/input}}'.repeat(5_000), /more than 16 deep/],
    // Quadratic in the library, which searches for the end of the tag from each space.
    ['a tag full of spaces', `{{input${' '.repeat(90_000)}}}`, /more than 1000 characters of whitespace/],
  ])('refuses %s', (_, template, why) => {
    expect(() => parsePrompt(template)).toThrow(SyntaxError);
    expect(() => parsePrompt(template)).toThrow(why);
  });

  it('accepts deep and numerous sections', () => {
    expect(parsePrompt('{{#input}}'.repeat(16) + '{{/input}}'.repeat(16))).toHaveLength(1);
    expect(parsePrompt('{{#input}}{{/input}}'.repeat(5_000))).toHaveLength(5_000);
    expect(shape(`a${' '.repeat(1_000)}b`)).toEqual([{ kind: 'text', text: `a${' '.repeat(1_000)}b` }]);
  });
});
