import { fuse, type RankedDocument } from './ranking';

const of = (...ids: number[]): RankedDocument[] =>
  ids.map((id) => ({ document_id: id, resource_id: `id ${id}`, score: 0.5 }));

describe('fuse', () => {
  it('adds 1/(60 + rank) for each ranking, regardless of scores', () => {
    expect(fuse(of(1, 2, 3), of(3, 1))).toEqual([
      { document_id: 1, resource_id: 'id 1', score: 1 / 61 + 1 / 62, ranks: { keyword: 1, vector: 2 } },
      { document_id: 3, resource_id: 'id 3', score: 1 / 63 + 1 / 61, ranks: { keyword: 3, vector: 1 } },
      { document_id: 2, resource_id: 'id 2', score: 1 / 62, ranks: { keyword: 2, vector: null } },
    ]);
  });

  it('orders equal scores by id, regardless of their ranking', () => {
    const order = (keyword: number[], vector: number[]) =>
      fuse(of(...keyword), of(...vector)).map((one) => one.document_id);
    expect(order([2], [1])).toEqual([1, 2]);
    expect(order([1, 2], [2, 1])).toEqual([1, 2]);
    expect(order([], [])).toEqual([]);
  });
});
