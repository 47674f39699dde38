import { ObjectEnd } from './object-end';

it.each([
  ['{}', true],
  [' \n{"a":[{"b":1}]} \t', true],
  ['{"a":"}\\"}"}', true],
  ['{"a":"\\\\"}', true],
  ['', false],
  ['{"a":{"b":1}', false],
  ['{"a":"}', false],
  ['{"a":"\\"}', false],
  ['{"a":1}{', false],
  ['{"a":1}}', false],
  ['[{}]', false],
  ['x{}', false],
  ['"{}"', false],
])('tells whether %j is a whole object, however it is split', (text, expected) => {
  for (const size of [1, 2, text.length + 1]) {
    const end = new ObjectEnd();
    for (let at = 0; at < text.length; at += size) end.add(text.slice(at, at + size));
    expect([size, end.isReached]).toEqual([size, expected]);
  }
});

it('is no longer the end when more text follows', () => {
  const end = new ObjectEnd();
  end.add('{}');
  expect(end.isReached).toBe(true);
  end.add('x');
  expect(end.isReached).toBe(false);
});
