import { LinearRegExp } from './linear.regexp';

describe('MatchFinder', () => {
  const find = (pattern: string, text: string, steps = 1_000_000) => {
    const budget = { left: steps };
    const found: string[] = [];
    const finder = LinearRegExp.compile(pattern).finder();
    const search = finder.search(text, budget, (start, end) => found.push(text.slice(start, end)));
    const isComplete = search(text.length);
    return { found, isComplete, steps: steps - budget.left };
  };

  it.each([
    ['\\d+', 'a1b22c333', ['1', '22', '333']],
    ['ab', 'ababxab', ['ab', 'ab', 'ab']],
    ['^a', 'aa\na', ['a']],
    ['(?m)^a', 'aa\na', ['a', 'a']],
    ['a$', 'aa\na', ['a']],
    ['\\bfoo\\b', 'foo foob xfoo foo', ['foo', 'foo']],
    ['<s>.*?</s>', '<s>1</s>2<s>3</s>', ['<s>1</s>', '<s>3</s>']],
    ['(?i)key=(\\w+)', 'KEY=a key=b', ['KEY=a', 'key=b']],
    ['foo|bar|baz', 'bar foo qux', ['bar', 'foo']],
    ['x*', 'axxb', ['xx']],
    ['.', 'a😀\nb', ['a', '😀', 'b']],
    ['\\p{L}+', 'Größe 12', ['Größe']],
    ['nothing', 'something', []],
  ])('finds the matches of %s in %j', (pattern, text, expected) => {
    expect(find(pattern, text)).toMatchObject({ found: expected, isComplete: true });
  });

  it.each([
    // each match looks ahead to the end, which is quadratic without a budget
    ['a.*z|a', 'a'],
    // the automaton has a state for each combination of the last characters
    ['(?:a|b)*a(?:a|b){12}[cd]', 'abbabaabbbababab'],
  ])('ends the search for %s when its steps are exhausted', (pattern, unit) => {
    const { isComplete, steps } = find(pattern, unit.repeat(200_000), 2_000_000);
    expect(isComplete).toBe(false);
    expect(steps).toBeLessThan(2_100_000);
  });

  it('takes a number of steps that is proportional to the text', () => {
    const stepsIn = (length: number): number =>
      find('(?i)key=\\w+', 'a key=b '.repeat(length), 100_000_000).steps;
    expect(stepsIn(8_000) / stepsIn(1_000)).toBeLessThan(9);
  });
});
