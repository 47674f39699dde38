import { setImmediate as turn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { embedBuiltin } from './embeddings/builtin.embedder';
import { embeddedText } from './embeddings/embedded-text';
import type { SearchDocument, SearchType } from './search-document';
import { SearchIndexRepository, type StoredDocument } from './search-index.repository';

/** Documents that are embedded before others get their turn: some milliseconds. */
const AT_ONCE = 20;

/** What `POST /registry/v1/search` finds. Whatever makes, changes or archives a resource of a `SearchType` tells it. */
@Injectable()
export class SearchIndex {
  constructor(private readonly documents: SearchIndexRepository) {}

  /**
   * Has resources found, as they are now: in the transaction that writes them, so that the next search finds them.
   * Where embeddings come from elsewhere, a worker asks for them after the commit.
   */
  async put(tx: Tx, scope: OrgScope, ...documents: readonly SearchDocument[]): Promise<void> {
    if (documents.length === 0) return;
    const texts = new Map(documents.map((one) => [keyOf(one.type, one.id), embeddedText(one)]));
    const stored = await this.documents.put(tx, scope, documents);
    const embedded: { document: StoredDocument; vector: Float64Array | null }[] = [];
    for (const [index, document] of stored.entries()) {
      if (index > 0 && index % AT_ONCE === 0) await turn();
      const text = texts.get(keyOf(document.resource_type, document.resource_id))!;
      embedded.push({ document, vector: embedBuiltin(text) });
    }
    await this.documents.putEmbeddings(tx, scope, embedded);
  }

  /** Has resources found no longer: in the transaction that archives them. */
  async remove(tx: Tx, scope: OrgScope, type: SearchType, ...ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.documents.remove(tx, scope, type, ids);
  }
}

const keyOf = (type: string, id: string): string => `${type} ${id}`;
