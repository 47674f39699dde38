import { Module } from '@nestjs/common';
import { QueryEmbedder } from './query.embedder';
import { RemoteEmbedder } from './remote.embedder';
import { SearchBackendRepository } from './search-backend.repository';

const PROVIDERS = [QueryEmbedder, RemoteEmbedder, SearchBackendRepository];

/** The backends of embeddings, for what asks them. */
@Module({ providers: PROVIDERS, exports: PROVIDERS })
export class EmbeddingsModule {}
