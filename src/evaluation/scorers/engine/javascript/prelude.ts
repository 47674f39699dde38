/** The name of the scorer's source in stacks. */
export const SOURCE_NAME = 'scorer.js';

/**
 * The source that the interpreter evaluates before a scorer's: a function that takes the host's functions and returns
 * the functions that the host calls.
 *
 * It is text because the sandbox's own interpreter evaluates it. It keeps every built-in it needs in its closure and
 * calls no method of a value, so a source that replaces built-ins or prototypes does not affect how its result is read.
 * Only JSON and error texts cross to the host.
 *
 * Host functions: `member(index)` returns the JSON text of a member of the subject. `distance(a, b)` returns the edit
 * distance of two strings, which it takes as JSON texts.
 *
 * Returned functions: `isDefined()` tells whether the source defined a function `score`. `run()` calls it and returns
 * `=` and the result as JSON, or `!` and an error text as a JSON string. `describe(thrown)` returns an error text in the
 * same form. In an error text, a NUL separates the message from the stack.
 */
export const PRELUDE = String.raw`(function (host, limits) {
  'use strict';
  const parse = JSON.parse, stringify = JSON.stringify, apply = Reflect.apply, slice = String.prototype.slice;
  const define = Object.defineProperty, isArray = Array.isArray, finite = Number.isFinite, longer = Math.max;
  const StringOf = String, TypeErrorOf = TypeError, RangeErrorOf = RangeError;
  const member = host.member, distance = host.distance;

  const cut = (text) => (text.length > limits.error ? apply(slice, text, [0, limits.error]) : text);

  function edits(name, a, b) {
    if (typeof a !== 'string' || typeof b !== 'string') throw new TypeErrorOf(name + ' compares two strings');
    if (a.length > limits.levenshtein || b.length > limits.levenshtein) {
      throw new RangeErrorOf(name + ' compares strings of at most ' + limits.levenshtein + ' characters');
    }
    return distance(stringify(a), stringify(b));
  }
  const offer = (name, value) =>
    define(globalThis, name, { __proto__: null, value, writable: true, configurable: true, enumerable: false });
  offer('levenshtein', function levenshtein(a, b) {
    return edits('levenshtein', a, b);
  });
  offer('levenshteinSimilarity', function levenshteinSimilarity(a, b) {
    const count = edits('levenshteinSimilarity', a, b);
    const longest = longer(a.length, b.length);
    return longest === 0 ? 1 : 1 - count / longest;
  });
  const silent = () => {};
  offer('console', { log: silent, info: silent, warn: silent, error: silent, debug: silent });
  delete globalThis.SharedArrayBuffer;

  function subject() {
    const made = {};
    for (let i = 0; i < limits.members.length; i++) {
      const key = limits.members[i];
      const settle = (value) =>
        define(made, key, { __proto__: null, value, writable: true, configurable: true, enumerable: true });
      define(made, key, {
        __proto__: null,
        configurable: true,
        enumerable: true,
        get() {
          const value = parse(member(i));
          settle(value);
          return value;
        },
        set: settle,
      });
    }
    return made;
  }

  function describe(thrown) {
    try {
      if (typeof thrown === 'string') return cut(thrown);
      if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null) {
        return cut(StringOf(thrown));
      }
      const name = thrown.name, message = thrown.message, stack = thrown.stack;
      if (typeof message !== 'string') {
        const text = stringify(thrown);
        return typeof text === 'string' ? 'threw ' + cut(text) : 'threw a value that is not an Error';
      }
      const title = typeof name === 'string' && name !== '' ? cut(name) + ': ' : '';
      return title + cut(message) + '\u0000' + (typeof stack === 'string' ? cut(stack) : '');
    } catch {
      return 'threw a value that cannot be described';
    }
  }

  const refuse = (text) => '!' + stringify(text);
  const hint = '; return a number, a boolean, null or {score, label, reasoning, answers}';

  function points(value, what) {
    if (value === null) return 'null';
    if (value === true) return '1';
    if (value === false) return '0';
    if (typeof value !== 'number') return undefined;
    return finite(value) ? '' + value : undefined;
  }
  function name(value) {
    if (typeof value === 'number') return '' + value;
    if (value === undefined) return 'undefined';
    if (isArray(value)) return 'an array';
    const type = typeof value;
    return (type === 'object' ? 'an ' : 'a ') + type;
  }
  const absent = (value) => value === undefined || value === null;

  function encode(result) {
    const plain = points(result);
    if (plain !== undefined) return '={"score":' + plain + '}';
    if (typeof result !== 'object' || isArray(result)) return refuse('score returned ' + name(result) + hint);
    if (typeof result.then === 'function') {
      return refuse('score returned a promise, which the sandbox does not support; return the result itself');
    }
    const value = result.score;
    const score = points(value);
    if (score === undefined) {
      return refuse(
        value === undefined
          ? 'score returned an object without the member score' + hint
          : 'the member score is ' + name(value) + '; it must be a finite number, a boolean or null',
      );
    }
    let rest = '';
    for (let i = 0; i < 2; i++) {
      const key = i === 0 ? 'label' : 'reasoning', text = result[key];
      if (absent(text)) continue;
      if (typeof text !== 'string') return refuse(key + ' is ' + name(text) + '; it must be a string');
      rest += ',"' + key + '":' + stringify(text);
    }
    const answers = result.answers;
    if (!absent(answers)) {
      const encoded = typeof answers === 'object' && !isArray(answers) ? stringify(answers) : undefined;
      if (typeof encoded !== 'string' || encoded[0] !== '{') {
        return refuse('answers is ' + name(answers) + '; it must be an object of JSON values');
      }
      rest += ',"answers":' + encoded;
    }
    const encoded = '={"score":' + score + rest + '}';
    return encoded.length > limits.result
      ? refuse('the result has ' + encoded.length + ' characters as JSON; at most ' + limits.result + ' are allowed')
      : encoded;
  }

  return {
    describe: (thrown) => refuse(describe(thrown)),
    isDefined: () => typeof score === 'function',
    run() {
      try {
        if (typeof score !== 'function') return refuse('the source defines no function score');
        return encode(score(subject()));
      } catch (thrown) {
        return refuse(describe(thrown));
      }
    },
  };
})`;
