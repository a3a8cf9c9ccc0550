"""The report: one self-contained HTML page about a study's store.

`page.page_of` turns results into plain data, `render.render` puts data, style and scripts into one file. The page
computes the bounds itself (`assets/bounds.js`), so that a reader can move theta, kappa Lambda, the gap and K.
"""
