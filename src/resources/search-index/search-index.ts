import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { yieldToEventLoop } from '#platform/concurrency';
import { Environment } from '#platform/config';
import type { Tx } from '#platform/db';
import { embedBuiltin } from './builtin.embedder';
import { BUILTIN_IDENTITY, embeddingIdentity, partsLiteral } from './embedding';
import { embeddedText, type SearchDocument, type SearchType } from './search-document';
import { SearchIndexRepository } from './search-index.repository';

/** The number of documents that are embedded before other work on the event loop gets a turn. */
const BATCH = 20;

/** The index behind `POST /registry/v1/search`. Every change of a resource of a `SearchType` updates it. */
@Injectable()
export class SearchIndex {
  private readonly isBuiltin: boolean;

  constructor(
    environment: Environment,
    private readonly documents: SearchIndexRepository,
  ) {
    this.isBuiltin = embeddingIdentity(environment) === BUILTIN_IDENTITY;
  }

  /**
   * Writes documents in the transaction of their resources, so that the next search finds them. With a remote backend, a
   * worker adds the embeddings after the commit.
   */
  async put(tx: Tx, scope: OrgScope, documents: readonly SearchDocument[]): Promise<void> {
    if (documents.length === 0) return;
    if (!this.isBuiltin) return this.documents.put(tx, scope, null, documents);
    const embedded: (SearchDocument & { parts: string | null })[] = [];
    for (const [index, document] of documents.entries()) {
      if (index > 0 && index % BATCH === 0) await yieldToEventLoop();
      const vector = embedBuiltin(embeddedText(document));
      embedded.push({ ...document, parts: vector && partsLiteral(vector) });
    }
    await this.documents.put(tx, scope, BUILTIN_IDENTITY, embedded);
  }

  /** Removes resources, in the transaction that archives them. */
  async remove(tx: Tx, scope: OrgScope, type: SearchType, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.documents.remove(tx, scope, type, ids);
  }
}
