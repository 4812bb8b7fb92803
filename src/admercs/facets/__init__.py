"""Facets: columns made of columns of the table, such as the shape of a text."""

from admercs.facets.choose_facets import choose_facets as choose_facets
from admercs.facets.facet_frame import FacetFrame as FacetFrame
from admercs.facets.facet_frame import prepare as prepare
from admercs.facets.facet_frame import summarise_facets as summarise_facets
from admercs.facets.facet_kinds import FACETS as FACETS
