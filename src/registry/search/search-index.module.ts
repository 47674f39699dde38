import { Module } from '@nestjs/common';
import { SearchIndex } from './search-index';
import { SearchIndexRepository } from './search-index.repository';

/** The index, for whatever writes what can be searched for. */
@Module({ providers: [SearchIndex, SearchIndexRepository], exports: [SearchIndex] })
export class SearchIndexModule {}
