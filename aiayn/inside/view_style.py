"""The style sheet of the attention maps.

From "Pages to look at":
https://github.com/OWNER/aiayn/blob/main/book/11-11-pages-to-look-at.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-11-pages-to-look-at.ipynb, cell style
STYLE = """
.aiayn-attention {
  --at: var(--aiayn-blue, #3a7ebf);
  --line: color-mix(in srgb, currentColor 30%, transparent);
  font: 14px/1.5 system-ui, sans-serif;
  max-width: 44rem;
  text-align: left;
}
.aiayn-attention table { border-collapse: collapse; }
.aiayn-attention :is(caption, th, td) {
  padding: 0 1em 0 0;
  text-align: left;
  font-weight: 400;
}
.aiayn-attention caption { font-weight: 600; padding-bottom: 0.4em; }
.aiayn-attention button {
  background: none;
  border: 1px solid var(--line);
  border-radius: 4px;
  color: inherit;
  cursor: pointer;
  font: inherit;
  margin: 0;
  padding: 0.1em 0.6em;
}
.aiayn-attention button[aria-pressed=true] {
  background: color-mix(in srgb, var(--at) 25%, transparent);
  border-color: var(--at);
}
.aiayn-attention .at-grid button[aria-pressed=true] {
  background: none;
  box-shadow: 0 0 0 2px var(--at);
}
.aiayn-attention :focus-visible { outline: 2px solid var(--at); outline-offset: 1px; }
.aiayn-attention .at-row {
  display: flex;
  flex-wrap: wrap;
  gap: 0.4em;
  margin: 0.5em 0;
}
"""


# book/11-11-pages-to-look-at.ipynb, cell style-picture
STYLE += """
.aiayn-attention .at-grid {
  align-items: center;
  display: grid;
  gap: 6px;
  justify-content: start;
  margin: 0.3em 0;
  overflow-x: auto;
  padding: 3px;
}
.aiayn-attention .at-grid button { line-height: 0; overflow: hidden; padding: 2px; }
.aiayn-attention .at-grid span { white-space: nowrap; }
.aiayn-attention .at-grid svg { display: block; height: 100%; width: 100%; }
.aiayn-attention rect { fill: color-mix(in srgb, var(--at) 75%, currentColor); }
.aiayn-attention .at-large {
  display: grid;
  gap: 0 0.5em;
  grid-template-columns: auto minmax(4em, 1fr) auto;
}
.aiayn-attention .at-large svg { height: 100%; width: 100%; }
.aiayn-attention path {
  fill: none;
  stroke: color-mix(in srgb, var(--at) 75%, currentColor);
  vector-effect: non-scaling-stroke;
}
.aiayn-attention .at-large ul { list-style: none; margin: 0; padding: 0; }
.aiayn-attention li {
  border-radius: 3px;
  height: 1.6em;
  line-height: 1.6em;
  margin: 0;
  max-width: 9.5em;
  overflow: hidden;
  padding: 0 0.3em;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.aiayn-attention [role=option] { cursor: pointer; text-align: right; }
.aiayn-attention [aria-selected=true] {
  background: color-mix(in srgb, var(--at) 25%, transparent);
}
.aiayn-attention .at-seen li {
  background: color-mix(in srgb, var(--at) calc(var(--seen, 0) * 40%), transparent);
}
.aiayn-attention .at-say { margin: 0.5em 0; min-height: 3em; }
"""
