import { parsePath, resolvePath } from './json.path';

describe('paths', () => {
  const value = {
    output: { items: [{ name: 'a' }, { name: 'b' }], 'a b': 1, "it's": 2, null: null, 'x-y': 3, '': 4 },
  };
  const at = (path: string): unknown => resolvePath(value, parsePath(path));

  it.each([
    ['$', value],
    ['output.items[0].name', 'a'],
    ['$.output.items[1].name', 'b'],
    ['$.output.items[-1].name', 'b'],
    ["$['output']['a b']", 1],
    ["['output']['a b']", 1],
    ['$["output"]["it\'s"]', 2],
    ["$.output['it\\'s']", 2],
    ['output.null', null],
    ['output.x-y', 3],
    ["output['']", 4],
    ["output['\\u0061 b']", 1],
  ])('select a value: %s', (path, expected) => {
    expect(at(path)).toEqual({ exists: true, value: expected });
  });

  it.each([
    'output.missing',
    'output.items[2]',
    'output.items[-3]',
    'output.items.name',
    "output['items']['0']",
    'output.null.a',
    'output.toString',
    'output.__proto__',
    'output.constructor.prototype',
    'output.items.length',
  ])('select nothing: %s', (path) => {
    expect(at(path)).toEqual({ exists: false, value: undefined });
  });

  it.each([
    '',
    '.',
    'output.',
    'output..a',
    'output[*]',
    '$..a',
    'output[01]',
    'output[?(@.a)]',
    'output[0:1]',
    'a b',
  ])('are refused if they are invalid: %j', (path) => {
    expect(() => parsePath(path)).toThrow(SyntaxError);
  });

  it('are refused above 500 characters', () => {
    expect(() => parsePath(`output${'.a'.repeat(300)}`)).toThrow('at most 500 characters');
  });
});
