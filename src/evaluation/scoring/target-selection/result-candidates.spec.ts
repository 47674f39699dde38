import { rangesOf, walkOf } from './result-candidates';

const target = (result_id: string) => ({ result_id, trace_id: null, session_id: null });

describe('rangesOf', () => {
  it('returns one range without walks', () => {
    expect(rangesOf([])).toEqual([{ below: undefined, above: undefined }]);
  });

  it('returns unwalked ranges, newest first, and then the merged walks', () => {
    const walks = [
      { from: '2', to: '3' },
      { from: '7', to: '8' },
      { from: '6', to: '7' },
    ];
    expect(rangesOf(walks)).toEqual([
      { below: undefined, above: '8' },
      { below: '6', above: '3' },
      { below: '2', above: undefined },
      { from: '6', to: '8' },
      { from: '2', to: '3' },
    ]);
  });
});

describe('walkOf', () => {
  it('returns the range from the oldest target to the newest result of all walks', () => {
    const walks = [
      { from: '1', to: '2' },
      { from: '7', to: '8' },
    ];
    expect(walkOf([target('5'), target('4')], [])).toEqual({ from: '4', to: '5' });
    expect(walkOf([target('5'), target('4')], walks)).toEqual({ from: '4', to: '8' });
    expect(walkOf([target('9')], walks)).toEqual({ from: '9', to: '9' });
    expect(walkOf([], walks)).toBeNull();
  });
});
